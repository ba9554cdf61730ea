"""The plugins of a session."""
