"""The client of MCP servers: transports, the protocol, connections, and what they offer as tools."""
