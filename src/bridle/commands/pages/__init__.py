"""Pages for a browser: one file each, without scripts, that needs nothing but itself."""
