"""`bridle.lock`: what models read besides the conversation, in a file."""
