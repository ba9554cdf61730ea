"""Signs that a session goes badly, counted on this machine and sent nowhere."""
