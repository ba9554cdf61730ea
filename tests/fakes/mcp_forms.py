"""A server in plain Python whose tool asks the user something: `form`, `page` or nothing."""

import json
import sys
from collections.abc import Mapping

_SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "As it should stand on the ticket."},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "class": {"type": "string", "enum": ["second", "first"]},
        "window": {"type": "boolean", "title": "A seat at the window"},
    },
}
_TOOL = {
    "name": "book",
    "description": "Book a journey.",
    "inputSchema": {
        "type": "object",
        "properties": {"to": {"type": "string"}, "ask": {"enum": ["form", "page", "nothing"]}},
    },
}


def main() -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        match message:
            case {"method": "initialize", "id": number, "params": params}:
                info = {"name": "travel", "version": "1.0"}
                offered = {"tools": {}}
                version = params["protocolVersion"]
                _say(number, {"protocolVersion": version, "capabilities": offered, "serverInfo": info})
            case {"method": "tools/list", "id": number}:
                _say(number, {"tools": [_TOOL]})
            case {"method": "tools/call", "id": number, "params": {"arguments": given}}:
                _say(number, {"content": [{"type": "text", "text": _booked(given)}]})
            case {"method": _, "id": number}:
                _send({"id": number, "error": {"code": -32601, "message": "not here"}})
            case _:
                pass


def _booked(given: dict[str, str]) -> str:
    match given.get("ask"):
        case "form":
            return _ask({"message": f"Who travels to {given['to']}?", "requestedSchema": _SCHEMA})
        case "page":
            page = "https://travel.example/pay?booking=4711&from=bridle"
            said = {"mode": "url", "message": "Please pay the journey.", "url": page, "elicitationId": "e1"}
            return _ask(said)
        case _:
            return "Booked."


def _ask(params: Mapping[str, object]) -> str:
    _send({"id": "asked", "method": "elicitation/create", "params": params})
    for line in sys.stdin:
        if (message := json.loads(line)).get("id") == "asked":
            return json.dumps(message.get("result") or message.get("error"))
    return "nobody answered"


def _say(number: object, result: dict[str, object]) -> None:
    _send({"id": number, "result": result})


def _send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
