"""The files of a lake read into the classes of :mod:`spark_jobs.lake_spec`; mistakes with file, line and remedy."""
