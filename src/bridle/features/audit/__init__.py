"""The audit chain: what a session did and who decided it, in a file that shows every later change."""
