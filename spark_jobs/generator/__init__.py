"""A seeded life of a property company, told as Debezium SQL Server events, with its own truth."""
