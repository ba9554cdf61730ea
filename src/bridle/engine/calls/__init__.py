"""The calls of one answer: from the input that a model wrote to exactly one result."""
