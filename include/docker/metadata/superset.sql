-- Airflow's database is made by the image; this is Superset's.
CREATE DATABASE superset;
