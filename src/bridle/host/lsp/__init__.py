"""Language servers: programs that know about code."""
