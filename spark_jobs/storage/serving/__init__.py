"""The serving store: a relational database that dashboards query, with every mart as a table of its own."""
