"""What each table service looks for in a table, and what it does: a module for each."""
