"""What can be wrong with a lake that nobody notices, what it means, and what can be put right safely."""
