"""A session that people and other sessions reach from elsewhere, served by itself."""
