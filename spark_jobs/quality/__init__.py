"""Expectations on rows: the gate in a write, what it holds back, and the audits by Great Expectations afterwards."""
