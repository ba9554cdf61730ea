"""A server over standard streams: a channel (`relay allow|deny`), or one that asks a model (`sampler`)."""

import json
import sys


def say(message: dict) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main(kind: str, behavior: str = "") -> None:
    experimental = {"claude/channel": {}, "claude/channel/permission": {}} if kind == "relay" else {}
    waiting = None
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                able = {"tools": {}, "experimental": experimental}
                info = {"name": kind, "version": "1"}
                told = {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": info}
                say({"id": message["id"], "result": told})
            case "tools/list":
                tools = [{"name": "ask", "inputSchema": {"type": "object"}}] if kind == "sampler" else []
                say({"id": message["id"], "result": {"tools": tools}})
            case "tools/call":
                waiting = message["id"]
                said = {"role": "user", "content": {"type": "text", "text": "What is the word?"}}
                params = {"messages": [said], "systemPrompt": "Be short.", "maxTokens": 50}
                say({"id": "s1", "method": "sampling/createMessage", "params": params})
            case "notifications/claude/channel/permission_request":
                params = message["params"]
                print(json.dumps(params), file=sys.stderr, flush=True)
                with open("relayed.json", "w", encoding="utf-8") as file:
                    json.dump(params, file)
                answer = {"request_id": params["request_id"], "behavior": behavior}
                say({"method": "notifications/claude/channel/permission", "params": answer})
            case None if message.get("id") == "s1":
                text = json.dumps(message.get("result") or message.get("error"))
                say({"id": waiting, "result": {"content": [{"type": "text", "text": text}]}})
            case method if "id" in message:
                say({"id": message["id"], "error": {"code": -32601, "message": f"no {method}"}})
            case _:
                pass


if __name__ == "__main__":
    main(*sys.argv[1:])
