"""The engine of declared marts: one module a mode, and what they share."""
