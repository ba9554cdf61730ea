"""A server in plain Python for what no well-behaved one does; run with the names of its oddities."""

import json
import os
import signal
import subprocess
import sys
import time

ODD = set(sys.argv[1:])
VERSION = "2025-06-18"


def say(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def result(message: dict, value: object) -> None:
    say({"jsonrpc": "2.0", "id": message["id"], "result": value})


def tool(name: str, **more: object) -> dict:
    return {"name": name, "description": f"does {name}", "inputSchema": {"type": "object"}, **more}


def initialize(message: dict) -> None:
    if "lying" in ODD:
        result(message, {"protocolVersion": 7, "capabilities": "all of them"})
    elif "old" in ODD:
        result(message, {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {}})
    else:
        info = {"name": "plain", "version": "0"}
        able = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
        result(message, {"protocolVersion": VERSION, "capabilities": able, "serverInfo": info})


def list_tools(message: dict) -> None:
    if "crash-on-list" in ODD:
        os._exit(9)
    if "endless" in ODD:
        result(message, {"tools": [tool("again")], "nextCursor": "always the same"})
    elif "odd-tools" in ODD:
        result(
            message,
            {
                "tools": [
                    tool("fine"), tool("no/good name"), tool("no good.name"), {"name": ""}, "text",
                    tool("array", inputSchema={"type": "array"}), tool("no-schema", inputSchema=None),
                    tool("either", inputSchema={"type": "object", "anyOf": [{}], "properties": {"a": {}}}),
                    tool("wordy", description="w" * 60_000),
                ]
            },
        )  # fmt: skip
    elif "person" in ODD:
        result(message, {"tools": [tool("echo", _meta={"anthropic/requiresUserInteraction": True})]})
    elif "shape" in ODD:
        result(message, {"tools": [tool("shape")]})
    else:
        result(message, {"tools": [tool("echo"), tool("reader", annotations={"readOnlyHint": True})]})


def call(message: dict) -> None:
    name, given = message["params"]["name"], message["params"].get("arguments", {})
    if name == "die":
        os._exit(4)
    if name == "huge":
        sys.stdout.write("x" * (70 * 1024 * 1024))
        sys.stdout.flush()
        time.sleep(30)
    if name == "meta":
        result(message, {"content": [{"type": "text", "text": json.dumps(message["params"].get("_meta"))}]})
        return
    if name == "env":
        result(message, {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]})
        return
    if name == "url":
        if given.get("ready"):
            result(message, {"content": [{"type": "text", "text": "let in"}]})
            return
        page = {
            "mode": "url",
            "elicitationId": "e1",
            "url": "https://example.com/a",
            "message": "Please look",
        }
        error = {"code": -32042, "message": "A page must be seen.", "data": {"elicitations": [page]}}
        say({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return
    if name == "error":
        say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "no such luck"}})
        return
    if name == "shape":
        result(message, given["result"])
        return
    result(message, {"content": [{"type": "text", "text": given.get("text", "")}]})


def take(message: dict) -> None:
    match message.get("method"):
        case "server/discover":
            if "exit-on-probe" in ODD:
                os._exit(1)
            if "silent-on-probe" not in ODD:
                say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}})
        case "initialize":
            if "mute" not in ODD:
                initialize(message)
        case "tools/list":
            list_tools(message)
        case "tools/call":
            call(message)
        case "prompts/list":
            result(message, {"prompts": [{"name": "p"}]})
        case "resources/list":
            result(message, {"resources": [{"uri": "a://b", "name": "b"}]})
        case str() if "id" in message:
            say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}})
        case _:
            pass


def main() -> None:
    if "stubborn" in ODD:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "parent" in ODD:
        subprocess.Popen(["sleep", "600"])
    if "noisy" in ODD:
        print("Welcome to the noisy server!", flush=True)
        print(
            "{not json",
            "[1, 2]",
            "null",
            '"text"',
            '{"jsonrpc": "2.0", "id": 99, "result": {}}',
            sep="\n",
            flush=True,
        )
        print("careful\n" * 500, file=sys.stderr, flush=True)
    if "pid" in ODD:
        with open(os.environ["PID_FILE"], "a") as file:
            file.write(f"{os.getpid()}\n")
    if "broken" in ODD:
        print("Traceback: no module named nothing", file=sys.stderr, flush=True)
        sys.exit(1)
    if "once" in ODD and os.path.exists(os.environ["ONCE_FILE"]):
        sys.exit(1)
    if "once" in ODD:
        open(os.environ["ONCE_FILE"], "w").close()
    for line in sys.stdin:
        message = json.loads(line)
        take(message)
        if "flood" in ODD and message.get("method") == "notifications/initialized":
            while True:
                say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    while "stubborn" in ODD:
        time.sleep(1)


if __name__ == "__main__":
    main()
