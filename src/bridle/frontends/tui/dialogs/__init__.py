"""Questions that stand in the place of the input until they are answered."""
