"""A seeded life of a property company, as Debezium SQL Server events, with its own truth."""
