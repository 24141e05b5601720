"""Pure DataFrame to DataFrame functions: no reads, no writes, no clock."""
