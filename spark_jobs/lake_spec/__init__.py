"""What a lake declares, as frozen classes: sources, tables, marts, rules, expectations, people, services."""
