"""`bridle remote`: shared sessions."""
