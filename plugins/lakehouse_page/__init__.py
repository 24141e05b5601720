"""The lake page of Airflow's UI: what is read comes from ``spark_jobs.overview``, who may see it from Airflow."""
