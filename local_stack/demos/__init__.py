"""Whole chains through a real Airflow, each compared with the truth: demo, company, cloud, live; up and down."""
