"""The interactive program: a live region under native scrollback."""
