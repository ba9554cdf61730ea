"""One prompt through an adapter of the Agent Client Protocol."""

import os
import sys

from stdio_peer import Peer

peer = Peer(sys.argv[1:])
abilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
peer.call("initialize", {"protocolVersion": 1, "clientCapabilities": abilities})
session = peer.call("session/new", {"cwd": os.getcwd(), "mcpServers": []})["sessionId"]
done = peer.call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "hi #bash"}]})
print(f"stop: {done.get('stopReason')}")
peer.end()
