"""Databases and their Debezium connectors: all that is known of one of them is in the module of its name."""
