"""A session from its options to its end: the one place where its parts are chosen and put together."""
