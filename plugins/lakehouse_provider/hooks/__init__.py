"""What tasks speak to outside the lake."""
