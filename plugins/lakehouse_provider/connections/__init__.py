"""Airflow connections that a job gets by its environment: which one, and what it is for a job."""
