"""Catalogs in which engines find the tables: what they should say, what they say, and bringing one to the other."""
