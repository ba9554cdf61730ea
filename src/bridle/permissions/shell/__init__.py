"""Shell commands read with a real grammar: every part of them, and what each would do."""

from bridle.permissions.shell.prefix import rule_prefix
from bridle.permissions.shell.reading import read_command

__all__ = ["read_command", "rule_prefix"]
