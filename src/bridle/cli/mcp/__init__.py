"""`bridle mcp`, and the servers of a session for scripts beside it."""
