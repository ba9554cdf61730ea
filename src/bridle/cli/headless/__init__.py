"""`bridle -p`: print mode, and host programs on the standard streams."""
