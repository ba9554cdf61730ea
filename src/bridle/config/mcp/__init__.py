"""MCP servers in settings: where they are written down, and which of them may start."""
