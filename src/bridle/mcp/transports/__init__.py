"""Transports of MCP messages: programs, HTTP, WebSockets and this process."""
