"""`bridle.lock`: what models read besides the conversation, written down and taken from there."""
