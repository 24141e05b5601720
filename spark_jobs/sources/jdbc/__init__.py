"""Tables of databases, read by Spark's JDBC source as the change events of a first load."""
