"""What an editor beside the session tells it, and what the session shows there."""
