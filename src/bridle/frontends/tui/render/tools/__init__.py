"""How each tool's calls are shown."""
