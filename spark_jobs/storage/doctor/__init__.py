"""What can be wrong with a lake unnoticed, what it means, and what can be repaired safely."""
