"""`bridle` at a terminal."""
