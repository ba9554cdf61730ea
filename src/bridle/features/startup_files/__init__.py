"""What the user's start-up files define, for the shell commands of a session."""
