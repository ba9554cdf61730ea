"""The routes by which devices and machines join, are listed and revoked."""

import asyncio
import os
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridle.frontends.hub import identity
from bridle.frontends.hub.hub import COOKIE, Hub, address_of, answer, body_of, bytes_of, number_of, text_of
from bridle.frontends.hub.identity import ROLES
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.hub.tokens import is_safe_id, new_id
from bridle.host.files import read_bytes, write_new

_YEAR_SECONDS = 31_536_000
_LARGEST_FILE = 32_000_000
_MOST_ROWS = 500


class Devices:
    """Answers devices about themselves, and machines that join."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def routes(self) -> list[Route]:
        return [
            Route("/api/pair", self._pair, methods=["POST"]),
            Route("/api/join", self._join, methods=["POST"]),
            Route("/api/me", self._me, methods=["GET"]),
            Route("/api/codes", self._code, methods=["POST"]),
            Route("/api/devices", self._list, methods=["GET"]),
            Route("/api/devices/{id}", self._revoke, methods=["DELETE"]),
            Route("/api/audit", self._audit, methods=["GET"]),
            Route("/api/auth/trusted_devices", self._enroll, methods=["POST"]),
            Route("/api/files", self._upload, methods=["POST"]),
            Route("/api/oauth/files/{file}/content", self._download, methods=["GET"]),
        ]

    async def _pair(self, request: Request) -> Response:
        """A device exchanges a code for its key: a browser keeps it in a cookie that no script can read."""
        body = await body_of(request)
        joined = await self._admit(request, body, "device")
        response = answer({"id": joined.id, "name": joined.name, "role": joined.role, "key": joined.key})
        if request.headers.get("sec-fetch-site") is not None:
            response = answer({"id": joined.id, "name": joined.name, "role": joined.role})
            response.set_cookie(
                COOKIE, joined.key, max_age=_YEAR_SECONDS, path="/", httponly=True, samesite="strict",
                secure=self._hub.options.is_secure,
            )  # fmt: skip
        return response

    async def _join(self, request: Request) -> Response:
        joined = await self._admit(request, await body_of(request), "machine")
        self._hub.feed.change(machines=True)
        return answer({"id": joined.id, "name": joined.name, "key": joined.key})

    async def _admit(self, request: Request, body: dict[str, Any], kind: Any) -> identity.Admission:
        code, name = text_of(body, "code", longest=100), text_of(body, "name", longest=200)
        joined = await self._hub.write(identity.admit, code, kind=kind, name=name)
        if joined is None:
            self._hub.guard.blame(address_of(request))
            raise Refusal(401, "The code is wrong, was used, or is older than ten minutes.")
        return joined

    async def _me(self, request: Request) -> Response:
        return answer(await self._hub.device(request, "watch"))

    async def _code(self, request: Request) -> Response:
        """A code for one more device, which may at most what this one may."""
        device, body = await self._hub.device(request, "start"), await body_of(request)
        role = text_of(body, "role") or "answer"
        if role not in ROLES:
            raise Refusal(400, f"role must be one of {', '.join(ROLES)}.")
        name = text_of(body, "name", longest=200)

        def make(base: Any) -> str:
            identity.record(base, actor=device.id, action="code made", detail={"role": role})
            return identity.make_code(base, kind="device", role=role, name=name)

        return answer({"code": await self._hub.write(make), "expires_in": int(identity.CODE_SECONDS)})

    async def _list(self, request: Request) -> Response:
        await self._hub.device(request, "watch")
        devices, machines = await self._hub.read(
            lambda base: (identity.devices(base), identity.machines(base))
        )
        return answer({"devices": devices, "machines": machines})

    async def _revoke(self, request: Request) -> Response:
        id = request.path_params["id"]
        device = await self._hub.device(request, "watch")
        if id != device.id and not device.may("start"):
            raise Refusal(403, f"{device.name} can revoke only itself.")
        await self._hub.write(identity.revoke, id, actor=device.id)
        self._hub.feed.change(machines=True)
        return Response(status_code=204)

    async def _audit(self, request: Request) -> Response:
        await self._hub.device(request, "start")
        before = number_of(request, "before", 2**50)
        limit = min(number_of(request, "limit", 100), _MOST_ROWS)
        return answer({"rows": await self._hub.read(identity.audit, before=before, limit=limit)})

    async def _enroll(self, request: Request) -> Response:
        """A machine enrolls as a trusted device, in the words of the wire."""
        machine, body = await self._hub.machine(request), await body_of(request)
        name = text_of(body, "display_name", longest=200) or machine.name

        def enroll(base: Any) -> identity.Admission | None:
            code = identity.make_code(base, kind="device", role="watch", name=name)
            return identity.admit(base, code, kind="device", name=name)

        joined = await self._hub.write(enroll)
        assert joined is not None
        return answer({"device_token": joined.key, "device_id": joined.id})

    async def _upload(self, request: Request) -> Response:
        device = await self._hub.device(request, "steer")
        data = await bytes_of(request, largest=_LARGEST_FILE)
        name = os.path.basename(request.query_params.get("name", ""))[:200] or "file"
        kind = request.headers.get("content-type", "application/octet-stream")[:100]
        id = new_id("file")
        await asyncio.to_thread(write_new, _file_path(self._hub, id), data)
        await self._hub.write(
            lambda base: base.execute(
                "INSERT INTO files VALUES (?, ?, ?, ?, ?, strftime('%s', 'now'))",
                (id, name, kind, len(data), device.id),
            )
        )
        return answer({"file_uuid": id, "file_name": name, "size": len(data)})

    async def _download(self, request: Request) -> Response:
        await self._hub.machine_or_device(request, "watch")
        id = request.path_params["file"]
        row = await self._hub.read(
            lambda base: base.execute("SELECT name FROM files WHERE id = ?", (id,)).fetchone()
        )
        if row is None or not is_safe_id(id):
            raise Refusal(404, "File not found.", "not_found_error")
        data = await asyncio.to_thread(read_bytes, _file_path(self._hub, id), _LARGEST_FILE)
        # Never shown as a page of the hub's own.
        headers = {"content-disposition": "attachment", "x-content-type-options": "nosniff"}
        return Response(data, 200, headers, media_type="application/octet-stream")


def _file_path(hub: Hub, id: str) -> str:
    return os.path.join(hub.options.folder, "files", id)
