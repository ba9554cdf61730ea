"""Values of variables and words in a command line, as far as the line shows them."""
