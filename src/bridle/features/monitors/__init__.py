"""Commands and web sockets that a session watches."""
