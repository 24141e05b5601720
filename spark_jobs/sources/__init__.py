"""Where raw records come from, and how an envelope becomes a row or a reason."""
