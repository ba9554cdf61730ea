"""Where the parts meet: the loop from a prompt to its end."""
