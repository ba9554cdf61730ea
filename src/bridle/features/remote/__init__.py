"""Remote control: sharing a session with people elsewhere."""
