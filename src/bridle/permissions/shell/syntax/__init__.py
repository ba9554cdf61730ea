"""The syntax of command lines, as bash reads them."""
