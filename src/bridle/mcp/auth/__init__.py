"""Logging in to remote servers: OAuth 2.1 with everything that finds out how."""
