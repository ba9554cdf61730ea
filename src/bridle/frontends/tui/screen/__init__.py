"""What is drawn: the live region, full-window views, and when to draw."""
