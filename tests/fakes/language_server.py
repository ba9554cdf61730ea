"""A language server that does as its arguments say: it answers, hangs, crashes, or talks nonsense.

Run as a program. Its words are read from a file beside it when they are to change while it runs.
"""

import json
import os
import sys
from typing import Any


def main(kind: str, log: str) -> None:
    """Serve until told to exit; every message that comes is a line of the log."""
    with open(f"{log}.starts", "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    if kind == "exits":
        print("no license", file=sys.stderr)
        sys.exit(7)
    if kind == "garbage":
        sys.stdout.write("this is not the protocol\n" * 5_000)
        sys.stdout.flush()
    if kind == "huge":
        sys.stdout.write("Content-Length: 99999999999\r\n\r\n")
        sys.stdout.flush()
    if kind == "chatty":
        sys.stdout.write("starting up, please wait\n")
        sys.stdout.flush()
    while (message := _read()) is not None:
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps(message) + "\n")
        _answer(kind, message)


def _answer(kind: str, message: dict[str, Any]) -> None:
    method, params = message.get("method"), message.get("params") or {}
    if method == "exit":
        sys.exit(0)
    if method == "initialize":
        if kind == "hangs":
            return
        provides = (
            "definition", "references", "hover", "documentSymbol", "workspaceSymbol", "implementation",
            "callHierarchy",
        )  # fmt: skip
        capabilities = {f"{name}Provider": True for name in provides}
        if kind == "poor":
            capabilities = {"hoverProvider": True}
        _send({"id": message["id"], "result": {"capabilities": capabilities}})
        _send({"id": "ask-1", "method": "workspace/configuration", "params": {"items": [{"section": "a.b"}]}})
        _send({"id": "ask-2", "method": "unheard/of"})
    elif method in ("textDocument/didOpen", "textDocument/didChange"):
        _publish(params)
    elif "id" in message and method is not None:
        if kind == "crashes" and method != "shutdown":
            os._exit(9)
        if kind == "silent" and method != "shutdown":
            return
        _send(_reply(kind, message))


def _reply(kind: str, message: dict[str, Any]) -> dict[str, Any]:
    uri = (message.get("params") or {}).get("textDocument", {}).get("uri", "file:///nowhere")
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    item = {"name": "f", "kind": 12, "uri": uri, "range": span, "selectionRange": span}
    results: dict[str, Any] = {
        "textDocument/hover": {"contents": [{"language": "x", "value": "f()"}, "said"]},
        "textDocument/definition": {"uri": uri, "range": span},
        "textDocument/references": [
            {"uri": uri, "range": span},
            {"uri": "file:///secret/file.x", "range": span},
        ],
        "textDocument/documentSymbol": [{**item, "children": [{**item, "name": "inner", "kind": 13}]}],
        "workspace/symbol": [{"name": "g", "kind": 5, "location": {"uri": "file:///w.x", "range": span}}],
        "textDocument/prepareCallHierarchy": [item],
        "callHierarchy/incomingCalls": [{"from": {**item, "name": "caller", "uri": "file:///c.x"}}],
        "callHierarchy/outgoingCalls": [],
    }
    if kind == "many":
        results["textDocument/references"] = [
            {"uri": f"file:///many/{number}.x", "range": span} for number in range(5_000)
        ]
    return {"id": message["id"], "result": results.get(str(message["method"]))}


def _publish(params: dict[str, Any]) -> None:
    document = params["textDocument"]
    text = document.get("text") or params.get("contentChanges", [{}])[0].get("text", "")
    found = [
        {
            "range": {"start": {"line": number, "character": 0}, "end": {"line": number, "character": 1}},
            "severity": 1 if "bad" in line else 4,
            "message": f"wrong: {line}",
            "source": "fake",
        }
        for number, line in enumerate(text.splitlines())
        if "bad" in line or "hint" in line
    ]
    body = {"uri": document["uri"], "diagnostics": found}
    _send({"method": "textDocument/publishDiagnostics", "params": body})


def _send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\nContent-Type: x\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def _read() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        return None
    return json.loads(sys.stdin.buffer.read(length))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
