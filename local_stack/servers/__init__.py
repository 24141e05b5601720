"""Real servers on this machine, each a process that is stopped by its id: Airflow, Spark Connect, Kafka, databases."""
