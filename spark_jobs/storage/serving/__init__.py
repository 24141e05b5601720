"""The serving store: a relational database that dashboards ask, with every mart as a table of its own."""
