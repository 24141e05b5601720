"""Set-up of this machine: the Python environment, Java, jars, Trino, secrets; each fetched once and checked."""
