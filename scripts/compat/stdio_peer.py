"""Talks JSON-RPC with a program over its standard streams."""

import json
import subprocess
from typing import Any


class Peer:
    def __init__(self, argv: list[str]) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._last = 0

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a call; what comes meanwhile is printed or allowed."""
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line) if line.startswith("{") else {}
            if message.get("id") == self._last and "method" not in message:
                return message.get("result", message)
            self._take(message)
        raise SystemExit(f"{method}: the program ended")

    def notify(self, method: str) -> None:
        self._send({"jsonrpc": "2.0", "method": method})

    def end(self) -> None:
        self._process.kill()

    def _take(self, message: dict[str, Any]) -> None:
        match message:
            case {"method": "session/update", "params": {"update": {"content": {"text": text}}}}:
                print(f"chunk: {text}")
            case {
                "method": "session/request_permission",
                "id": id,
                "params": {"options": [{"optionId": first}, *_]},
            }:
                answer = {"outcome": {"outcome": "selected", "optionId": first}}
                self._send({"jsonrpc": "2.0", "id": id, "result": answer})
            case _:
                pass

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
