"""`bridle hooks`."""
