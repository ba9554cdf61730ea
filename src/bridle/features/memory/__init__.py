"""What is remembered from session to session, and notes about the session that runs."""
