"""`bridle lock`."""
