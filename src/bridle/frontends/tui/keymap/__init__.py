"""Key bindings: the defaults, the user's file, and how hints name keys."""
