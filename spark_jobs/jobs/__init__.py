"""One module a job: ``run(spark, arguments, settings) -> JobResult``."""
