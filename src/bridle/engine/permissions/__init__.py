"""Whether a call may run, who is asked about it, and what the model knows of its permissions."""
