"""What several jobs do together: taking events in, merging them into tables, what is known of columns."""
