"""What commands and views tell about a session, as values."""
