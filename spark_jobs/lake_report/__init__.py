"""The report of a lake: business pictures of its views as one HTML file."""
