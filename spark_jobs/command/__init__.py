"""``lakehouse``: the command that people type. It runs the jobs' own functions with the jobs' own options."""
