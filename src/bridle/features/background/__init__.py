"""Background work: commands and other jobs of a session, and moving the session itself to the background."""
