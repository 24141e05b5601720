"""Expectations asked of rows: the gate in a write, what it holds back, and what Great Expectations says afterwards."""
