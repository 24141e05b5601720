"""What a run of a job sends to who collects metrics and lineage, where the standard variables name one."""
