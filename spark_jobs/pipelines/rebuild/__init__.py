"""Tables rebuilt from the whole log by another definition: previewed, put in place, taken back."""
