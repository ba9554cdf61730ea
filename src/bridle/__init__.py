"""bridle: an open agent harness."""
