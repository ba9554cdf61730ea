"""MCP servers in settings: where they are defined, and which of them may start."""
