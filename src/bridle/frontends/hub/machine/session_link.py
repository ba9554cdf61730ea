"""Connects one session of this machine with its counterpart at the hub."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from bridle.frontends.hub.machine.attachments import fetch_attachments
from bridle.frontends.hub.machine.client import Backoff, HubClient, HubRefused, HubUnreachable, patiently
from bridle.frontends.hub.machine.encrypted_link import EncryptedLink
from bridle.frontends.hub.machine.uploading import EventUploader, StateUploader
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.shared_session import SharedSession
from bridle.host.http.event_stream import EventDecoder
from bridle.types.ids import new_uuid

Frame = dict[str, Any]

_BATCH_BYTES = 512 * 1024
_LARGEST_EVENT = 16_000_000
_REFRESH_SECONDS = 300.0
"""A token is renewed this long before it expires."""
_SHORTEST_REFRESH = 30.0
_MOST_KNOWN = 2_000
_REQUESTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "interrupt": ("interrupt", ()),
    "set_permission_mode": ("mode", ("mode",)),
    "set_model": ("model", ("model",)),
    "set_max_thinking_tokens": ("thinking", ("max_thinking_tokens",)),
    "set_effort": ("effort", ("level",)),
    "rename_session": ("rename", ("title",)),
    "rewind_files": ("rewind", ("user_message_id",)),
    "end_session": ("end", ()),
}
"""Control requests of the wire, and what they are for a shared session."""


class SessionLink:
    """Sends what a session does, and does what the hub passes on, within the rules of this machine."""

    def __init__(
        self,
        client: HubClient,
        session: str,
        shared: SharedSession,
        *,
        folder: str,
        metadata: Mapping[str, Any] | None = None,
        sealed: EncryptedLink | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.session = session
        self._client = client
        self._shared = shared
        self._folder = folder
        self._sealed = sealed
        """Encrypts for the devices of this machine; None where the hub may read along."""
        self._note = note
        self._token = ""
        self._renewed = asyncio.Event()
        self._after: int | None = None
        self._known: OrderedDict[str, None] = OrderedDict()
        """Events that were handled: the hub may send one again."""
        self._events = EventUploader(self._upload)
        self._state = StateUploader(self._report)
        self._metadata = dict(metadata or {})
        self._reported: Mapping[str, Any] = {}
        self._first: tuple[Frame, str] | None = None
        self.bridged = asyncio.Event()
        """The hub knows this worker."""

    @property
    def token(self) -> str:
        return self._token

    def begin_with(self, wish: Frame, who: str) -> None:
        """Do this as soon as the hub knows the worker."""
        self._first = wish, who

    async def run(self) -> None:
        """Work until the session ends and everything was sent, or another worker has taken over.

        Raises:
            HubRefused: the hub does not know the session any more.
            HubUnreachable: the hub has not answered for too long.
        """
        seconds = await self._renew()
        if self._first is not None:
            await self._perform(self._with_files(self._first[0]), self._first[1])
        tasks = [
            asyncio.create_task(each)
            for each in (self._events.run(), self._state.run(), self._listen(), self._refresh(seconds))
        ]
        following = asyncio.create_task(self._follow())
        try:
            done, _ = await asyncio.wait([following, *tasks], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except HubRefused as refusal:
            if refusal.status != 409:
                raise
            self._note(f"{self._shared.name}: another worker has taken over")
        finally:
            for task in (following, *tasks):
                task.cancel()
            await asyncio.gather(following, *tasks, return_exceptions=True)

    async def _renew(self) -> int:
        bridge = await patiently(
            lambda: self._client.bridge(self.session), Backoff(first=2.0, most=120.0, give_up=600.0)
        )
        self._token = bridge.worker_jwt
        self._renewed.set()
        self.bridged.set()
        return bridge.expires_in

    async def _refresh(self, seconds: int) -> None:
        """Renew the token ahead of time; the new one replaces this worker's own registration."""
        while True:
            await asyncio.sleep(max(seconds - _REFRESH_SECONDS, _SHORTEST_REFRESH))
            seconds = await self._renew()

    async def _upload(self, events: list[Mapping[str, Any]]) -> None:
        sent = events if self._sealed is None else [self._sealed.event(each) for each in events]
        await self._with_token(lambda token: self._client.upload(self.session, sent, token))

    async def _report(self, state: Mapping[str, Any]) -> None:
        sent = state if self._sealed is None else self._sealed.state(state)
        await self._with_token(lambda token: self._client.report(self.session, sent, token))

    async def _with_token(self, call: Callable[[str], Any]) -> None:
        """Call with the token; once more with a new one if it has expired or was renewed meanwhile."""
        token = self._token
        try:
            await call(token)
        except HubRefused as refusal:
            if refusal.status not in (401, 409):
                raise
            if self._token == token:
                if refusal.status == 409:
                    raise
                await self._renew()
            await call(self._token)

    async def _follow(self) -> None:
        """Send the conversation so far and then everything that happens."""
        log, epoch, after = self._shared.log, "", 0
        while True:
            lines = log.since(epoch, after, most=_BATCH_BYTES)
            if lines is None:
                epoch, after = log.epoch, log.last
                await self._send_snapshot()
            elif lines:
                for line in lines:
                    after += 1
                    await self._send_frame(msgspec.json.decode(line)["frame"], f"{epoch}-{after}")
            elif self._shared.ended is not None:
                self._report_state(ended=True)
                await self._events.flush()
                await self._state.flush()
                return
            else:
                self._report_state()
                await log.changed(after)

    async def _send_snapshot(self) -> None:
        snapshot = msgspec.json.decode(self._shared.snapshot())["snapshot"]
        for frame in snapshot["frames"]:
            await self._send_frame(frame, new_uuid())
        for question in snapshot["questions"]:
            await self._send_frame(question, question["request_id"])

    async def _send_frame(self, frame: Frame, name: str) -> None:
        if frame.get("type") == "control_request":
            name = str(frame.get("request_id", name))
        await self._events.put(frame if isinstance(frame.get("uuid"), str) else {**frame, "uuid": name})

    def _report_state(self, *, ended: bool = False) -> None:
        listing = self._shared.listing()
        status = (
            "failed" if ended and self._shared.failed
            else "completed" if ended
            else "requires_action" if listing["asks"]
            else "running" if listing.get("busy")
            else "idle"
        )  # fmt: skip
        external = {
            **self._metadata,
            **{
                name: listing.get(name)
                for name in ("model", "mode", "modes", "cwd", "waiting", "ends", "cost")
            },
            "asks": list(listing["asks"]),
            "name": self._shared.name,
        }
        report = {"worker_status": status, "external_metadata": external}
        if report != self._reported:
            self._reported = report
            self._state.put(report)

    async def _listen(self) -> None:
        """Take what the hub passes on, across breaks of the connection."""
        backoff = Backoff(first=1.0, most=30.0, give_up=600.0)
        while True:
            try:
                await self._read_stream(backoff)
                if not self._renewed.is_set():
                    raise HubUnreachable("The hub closed the stream.")
            except HubRefused as refusal:
                if refusal.status not in (401, 409) or not await self._was_renewed(refusal):
                    raise
            except HubUnreachable as fault:
                delay = backoff.next(fault.retry_after)
                if delay is None:
                    raise
                await asyncio.sleep(delay)

    async def _was_renewed(self, refusal: HubRefused) -> bool:
        """Whether a new token explains that the old one was refused."""
        if refusal.status == 401:
            await self._renew()
            return True
        renewed = self._renewed.is_set()
        self._renewed.clear()
        return renewed

    async def _read_stream(self, backoff: Backoff) -> None:
        self._renewed.clear()
        decoder = EventDecoder(_LARGEST_EVENT)
        async with self._client.stream(self.session, self._token, self._after) as response:
            async for chunk in response:
                backoff.reset()
                for event in decoder.feed(bytes(chunk)):
                    await self._take(event.data)
                    if decoder.last_id is not None and decoder.last_id.isdecimal():
                        self._after = int(decoder.last_id)

    async def _take(self, data: bytes) -> None:
        try:
            event = msgspec.json.decode(data, type=dict[str, Any])
            id, payload = str(event["event_id"]), event["payload"]
        except (msgspec.MsgspecError, LookupError):
            return  # Something newer than this bridle.
        if id not in self._known and isinstance(payload, dict):
            self._known[id] = None
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
            await self._handle(payload)
        # Said at once: a prompt that was taken must not come again after a restart.
        for status in ("received", "processed"):
            await self._acknowledge(id, status)

    async def _acknowledge(self, id: str, status: str) -> None:
        try:
            await self._with_token(lambda token: self._client.delivered(self.session, id, status, token))
        except (HubRefused, HubUnreachable):
            return  # It comes again then, and is known.

    async def _handle(self, payload: Frame) -> None:
        origin = payload.get("origin")
        who = str(origin.get("who", "")) if isinstance(origin, dict) else ""
        await self._perform(self._wanted(payload), who or "the hub", id=str(payload.get("uuid", "")))

    async def _perform(self, wish: Awaitable[Frame | None], who: str, *, id: str = "") -> None:
        """Do what a device asks, or say why not."""
        try:
            wanted = await wish
            if wanted is not None:
                self._shared.act({"id": id, **wanted}, who)
        except RequestRefused as refusal:
            text = f"{who[:1].upper()}{who[1:]} sent a request that this machine refuses: {refusal}"
            self._note(f"{self._shared.name}: {text}")
            frame = {"type": "system", "subtype": "informational", "content": text, "level": "warning"}
            self._shared.publish({**frame, "uuid": new_uuid()})

    async def _wanted(self, payload: Frame) -> Frame | None:
        """What an event of the hub asks of the session."""
        if self._sealed is not None:
            wish = await asyncio.to_thread(self._sealed.wish, payload)
            if wish is not None:
                return await self._with_files(wish)
        elif "sealed" in payload:
            raise RequestRefused(403, "this machine has no keys: run bridle hub trust there")
        match payload:
            case {"type": "user", "message": {"content": content}}:
                text = content if isinstance(content, str) else _text_of(content)
                return await self._with_files(
                    {"do": "prompt", "text": text, "files": payload.get("file_attachments")}
                )
            case {"type": "control_response", "response": {"request_id": str(asked), "response": dict(said)}}:
                return {**said, "do": "answer", "request_id": asked, "digest": str(payload.get("digest", ""))}
            case {"type": "control_request", "request": {"subtype": str(subtype)} as request}:
                if subtype not in _REQUESTS:
                    raise RequestRefused(400, f"unknown request {subtype[:60]!r}")
                action, fields = _REQUESTS[subtype]
                return {"do": action, **{name: request.get(name) for name in fields}}
            case _:
                return None

    async def _with_files(self, wish: Frame) -> Frame:
        """A prompt with its files mentioned; anything else as it is."""
        files = wish.pop("files", None)
        if wish["do"] != "prompt" or not isinstance(files, list) or not files:
            return wish
        opened = None if self._sealed is None else self._sealed.file
        mentions = await fetch_attachments(self._client, files, self._folder, opened=opened)
        return {**wish, "text": f"{mentions}{wish.get('text', '')}"}


def _text_of(content: Any) -> str:
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(each.get("text", "")) for each in blocks if isinstance(each, dict))
