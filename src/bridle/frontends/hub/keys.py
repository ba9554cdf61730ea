"""The routes by which devices and machines exchange keys that the hub itself cannot use."""

import sqlite3
import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridle.frontends.hub import identity
from bridle.frontends.hub.hub import Hub, answer, body_of, text_of
from bridle.frontends.hub.refusals import Refusal

_LONGEST_RING = 100_000
_MOST_RINGS = 200


class Keys:
    """Keeps public keys, and content keys that are encrypted for one device each."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def routes(self) -> list[Route]:
        return [
            Route("/api/keys", self._rings, methods=["GET"]),
            Route("/api/keys/{machine}", self._ask, methods=["PUT"]),
            Route("/api/machine", self._machine, methods=["GET"]),
            Route("/api/machine/keys", self._waiting, methods=["GET"]),
            Route("/api/machine/keys", self._hand_out, methods=["PUT"]),
        ]

    async def _rings(self, request: Request) -> Response:
        """The keys of all machines that trust the device."""
        device = await self._hub.device(request, "watch")
        return answer({"rings": await self._hub.read(_rings_of, device.id)})

    async def _ask(self, request: Request) -> Response:
        """A device asks a machine for its keys, with the proof that it has read the machine's code."""
        device, body = await self._hub.device(request, "watch"), await body_of(request)
        machine = request.path_params["machine"]
        public, proof = text_of(body, "public", longest=100), text_of(body, "proof", longest=100)
        if not public or not proof:
            raise Refusal(400, "public and proof are needed.")
        await self._hub.write(_note_key, machine, device.id, public, proof)
        return Response(status_code=204)

    async def _machine(self, request: Request) -> Response:
        return answer(await self._hub.machine(request))

    async def _waiting(self, request: Request) -> Response:
        machine = await self._hub.machine(request)
        return answer({"devices": await self._hub.read(_waiting, machine.id)})

    async def _hand_out(self, request: Request) -> Response:
        machine, body = await self._hub.machine(request), await body_of(request)
        await self._hub.write(_hand_out, machine.id, _read_rings(body))
        self._hub.feed.change(machines=True)
        return Response(status_code=204)


def _read_rings(body: Mapping[str, Any]) -> dict[str, str]:
    rings = body.get("rings")
    if not isinstance(rings, dict) or len(rings) > _MOST_RINGS:
        raise Refusal(400, f"rings must be an object with at most {_MOST_RINGS} entries.")
    if not all(isinstance(each, str) and len(each) <= _LONGEST_RING for each in rings.values()):
        raise Refusal(400, f"Every ring must be a text of at most {_LONGEST_RING} characters.")
    return rings


def _rings_of(base: sqlite3.Connection, device: str) -> list[dict[str, str]]:
    rows = base.execute(
        "SELECT machine, public, ring FROM keys WHERE device = ? AND ring IS NOT NULL", (device,)
    )
    return [{"machine": machine, "public": public, "ring": ring} for machine, public, ring in rows]


def _note_key(base: sqlite3.Connection, machine: str, device: str, public: str, proof: str) -> None:
    if all(each.id != machine for each in identity.machines(base)):
        raise Refusal(404, "There is no such machine.")
    values = (machine, device, public, proof, time.time())
    base.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, NULL, ?)", values)
    identity.record(base, actor=device, action="key offered", detail={"machine": machine})


def _waiting(base: sqlite3.Connection, machine: str) -> list[dict[str, str]]:
    names = {each.id: each.name for each in identity.devices(base)}
    rows = base.execute("SELECT device, public, proof FROM keys WHERE machine = ?", (machine,))
    return [
        {"id": device, "name": names[device], "public": public, "proof": proof}
        for device, public, proof in rows
        if device in names
    ]


def _hand_out(base: sqlite3.Connection, machine: str, rings: Mapping[str, str]) -> None:
    base.execute("UPDATE keys SET ring = NULL WHERE machine = ?", (machine,))
    for device, ring in rings.items():
        base.execute("UPDATE keys SET ring = ? WHERE machine = ? AND device = ?", (ring, machine, device))
    identity.record(base, actor=machine, action="keys handed out", detail={"devices": sorted(rings)})
