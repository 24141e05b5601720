"""Pages and pictures of docs/ that are made from the code or from what runs."""
