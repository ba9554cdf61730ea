"""Background sessions: start, list, attach, move and stop."""
