"""The conversation: the running turn, the prompt below it, and the rows between them."""
