"""What language servers bring to a session."""
