"""The floor: the same exchange with nothing but the standard library, written as short as it can be.

Usage: floor.py once | steps N FILE
"""

import http.client
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

_URL = urlsplit(os.environ["ANTHROPIC_BASE_URL"])
_CONNECTION = http.client.HTTPConnection(_URL.hostname or "127.0.0.1", _URL.port)
_HEADERS = {"content-type": "application/json", "x-api-key": "bench", "anthropic-version": "2023-06-01"}


def ask(messages: list[Any]) -> list[Any]:
    body = json.dumps({"model": "m", "max_tokens": 32000, "stream": True, "messages": messages})
    _CONNECTION.request("POST", "/v1/messages", body, _HEADERS)
    blocks: list[Any] = []
    for line in _CONNECTION.getresponse():
        if not line.startswith(b"data: "):
            continue
        event = json.loads(line[6:])
        if event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "pieces": []})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            blocks[-1]["pieces"].append(delta.get("text") or delta.get("partial_json") or "")
    return blocks


def main() -> None:
    messages: list[Any] = [{"role": "user", "content": "hello"}]
    while True:
        blocks = ask(messages)
        calls = [block for block in blocks if block["type"] == "tool_use"]
        for block in blocks:
            joined = "".join(block.pop("pieces"))
            if block["type"] == "text":
                block["text"] = joined
            else:
                block["input"] = json.loads(joined)
        messages.append({"role": "assistant", "content": blocks})
        if not calls:
            print(blocks[-1]["text"])
            return
        results: list[Any] = []
        for call in calls:
            with open(call["input"]["file_path"], encoding="utf-8") as file:
                results.append({"type": "tool_result", "tool_use_id": call["id"], "content": file.read()})
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    sys.exit(main())
