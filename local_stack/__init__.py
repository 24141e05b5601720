"""The stack on one machine: set-up, Java, jars, the Spark Connect server, the demo, Airflow up and down."""
