"""Model services behind one small interface."""
