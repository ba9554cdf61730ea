"""Panes of the user's terminal program, in which other programs run beside this one."""
