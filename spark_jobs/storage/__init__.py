"""Everything that touches the lake: write options, reader, writer, timeline, checkpoints, leases."""
