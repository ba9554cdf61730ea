"""Rules and the one function that decides."""
