"""What a script is allowed, as both sides know it."""

from __future__ import annotations

SECONDS = 10
"""How long a script may compute until it waits for something, unless given."""
MEMORY = 256 * 1024 * 1024
OWN_LINES = 1_000
"""The engine gives every text the same name, so a script is distinguished from the prelude by its lines: it
has these many before it, which is more than the prelude has."""
OUT_OF_MEMORY = 3
"""The exit code of a child that could not even tell its error."""
