"""`bridle plugin`."""
