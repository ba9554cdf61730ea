"""One call of the tool with which an MCP server runs the program under test."""

import json
import os
import sys

from stdio_peer import Peer

peer = Peer(sys.argv[1:])
peer.call(
    "initialize",
    {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
)
peer.notify("notifications/initialized")
arguments = {"prompt": "hi #bash", "workFolder": os.getcwd()}
print(json.dumps(peer.call("tools/call", {"name": "claude_code", "arguments": arguments})))
peer.end()
