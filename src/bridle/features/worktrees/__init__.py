"""Work trees that a session moves to and comes back from."""
