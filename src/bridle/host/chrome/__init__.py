"""Native messaging: its frames, the host process that a browser starts, and where browsers look for it."""
