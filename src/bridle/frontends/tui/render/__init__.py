"""What the terminal shows: pure functions from data and a width to lines."""
