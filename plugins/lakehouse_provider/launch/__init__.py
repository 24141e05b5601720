"""Drivers: from an Airflow connection to a process that runs a job, here or on a cluster, and how it ended."""
