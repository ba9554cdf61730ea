"""Credentials that commands use without ever having them: placeholders inside, the real ones on the wire."""
