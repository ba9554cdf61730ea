"""`bridle remote`: sessions that can be reached from elsewhere."""
