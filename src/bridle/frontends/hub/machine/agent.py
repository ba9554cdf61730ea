"""The process that runs on a machine for its hub: it polls for work and runs sessions."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.hub.machine.client import (
    Backoff,
    HubClient,
    HubRefused,
    HubUnreachable,
    WorkItem,
    patiently,
)
from bridle.frontends.hub.machine.encrypted_link import EncryptedLink, check_fresh
from bridle.frontends.hub.machine.encryption import (
    FOLDERS,
    Keyring,
    SeenRequests,
    load_keyring,
    plain_session,
)
from bridle.frontends.hub.machine.joined import JoinedSessions
from bridle.frontends.hub.machine.membership import Folder, Membership, Pointer, Pointers
from bridle.frontends.hub.machine.session_link import SessionLink
from bridle.frontends.hub.work_secret import WorkSecret, decode_work_secret
from bridle.frontends.remote.child_session import ChildSession
from bridle.frontends.remote.restrictions import EFFORT_LEVELS, MODES, check_model
from bridle.types.errors import BridleError
from bridle.types.ids import new_uuid

_BEAT_SECONDS = 20.0
_RECLAIM_SECONDS = 30.0
_STOP_TRIES = 3


class FolderFacts(Struct, frozen=True):
    """What the hub shows of a folder."""

    branch: str
    repository: str | None


class StartOptions(Struct, frozen=True):
    """What a session is to be started with."""

    options: Mapping[str, Any]
    prompt: dict[str, Any] | None = None
    """What to begin with, where the hub could not read it."""
    who: str = ""


class AgentOptions(Struct, frozen=True, kw_only=True):
    """How an agent runs."""

    capacity: int
    upload_folder: str
    """Where attachments go."""
    session_seconds: float = 86_400.0
    """How long a session may run."""
    beat_seconds: float = _BEAT_SECONDS
    give_up: float | None = 600.0
    """Seconds without an answer of the hub after which the agent ends."""


class Keys:
    """The keys of this machine, as they are now: a device may be trusted or forgotten at any time."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def ring(self) -> Keyring | None:
        """The content keys; None where the hub may read along."""
        return load_keyring(self._env)

    def seen(self, name: str) -> SeenRequests:
        return SeenRequests(self._env, name)

    def link(self, session: str) -> EncryptedLink | None:
        """What encrypts for one session."""
        ring = self.ring()
        return None if ring is None else EncryptedLink(ring, session, self.seen(plain_session(session)))


class Spawner:
    """How sessions are started; the host program says it."""

    def __init__(
        self,
        start: Callable[[str, Sequence[str], str], Awaitable[ChildSession]],
        facts: Callable[[str], Awaitable[FolderFacts]],
        is_trusted: Callable[[str], bool],
    ) -> None:
        self.start = start
        """Start a session in a folder with flags and a name."""
        self.facts = facts
        self.is_trusted = is_trusted


class MachineAgent:
    """Serves the folders of a membership until it is cancelled."""

    def __init__(
        self,
        client: HubClient,
        membership: Membership,
        spawner: Spawner,
        pointers: Pointers,
        options: AgentOptions,
        *,
        joined: JoinedSessions,
        keys: Keys,
        note: Callable[[str], None],
    ) -> None:
        self._client = client
        self._membership = membership
        self._spawner = spawner
        self._pointers = pointers
        self._options = options
        self._joined = joined
        self._keys = keys
        self._note = note
        self._running: dict[str, asyncio.Task[None]] = {}
        """By the name of the session at the hub."""
        self._room = asyncio.Event()
        """Set when a session has ended, so that a poll loop at capacity looks again."""

    async def run(self) -> None:
        """Register every folder and work for all of them.

        Raises:
            HubRefused: the hub does not know this machine any more.
            HubUnreachable: it has not answered for too long.
        """
        serving = [asyncio.create_task(self._joined.serve())]
        serving += [asyncio.create_task(self._serve(folder)) for folder in self._membership.folders]
        try:
            done, _ = await asyncio.wait(serving, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)
            await self._end_sessions()

    @property
    def count(self) -> int:
        return len(self._running)

    async def _serve(self, folder: Folder) -> None:
        if not os.path.isdir(folder.path):
            self._note(f"{folder.path} does not exist; skipped")
            return
        if not self._spawner.is_trusted(folder.path):
            self._note(f"{folder.path} is not trusted; run bridle trust there")
            return
        environment, secret = await self._register(folder)
        self._note(f"serving {folder.path}")
        for pointer in self._pointers.fresh(time.time()):
            if pointer.folder == folder.path and pointer.session not in self._running:
                await self._take_up(environment, pointer)
        await self._poll(folder, environment, secret)

    async def _register(self, folder: Folder) -> tuple[str, str]:
        facts = await self._spawner.facts(folder.path)
        shown: dict[str, Any] = {
            "directory": folder.path, "branch": facts.branch, "git_repo_url": facts.repository
        }  # fmt: skip
        if (ring := self._keys.ring()) is not None:
            box = ring.cipher(FOLDERS).seal(shown, "folder")
            shown = {"directory": f"sealed:{box['key']}:{box['sealed']}"}
        wanted = {
            "machine_name": self._membership.name,
            **shown,
            "max_sessions": self._options.capacity,
            "metadata": {"worker_type": "bridle"},
            "environment_id": folder.environment,
        }
        backoff = Backoff(first=2.0, most=120.0, give_up=self._options.give_up)
        return await patiently(lambda: self._client.register(wanted), backoff)

    async def _take_up(self, environment: str, pointer: Pointer) -> None:
        """Have a session that a crash cut off given to us again."""
        try:
            await self._client.reconnect(environment, pointer.session)
        except HubRefused:
            self._pointers.clear(pointer.session)
        except HubUnreachable as fault:
            self._note(f"can't resume a session: {fault}")

    async def _poll(self, folder: Folder, environment: str, secret: str) -> None:
        backoff = Backoff(first=2.0, most=120.0, give_up=self._options.give_up)
        reclaim: float | None = 0.0
        while True:
            while len(self._running) >= self._options.capacity:
                self._room.clear()
                await self._room.wait()
            try:
                work = await self._client.poll(environment, secret, reclaim_after=reclaim)
            except HubUnreachable as fault:
                delay = backoff.next(fault.retry_after)
                if delay is None:
                    raise
                await asyncio.sleep(delay)
                continue
            except HubRefused as refusal:
                if not refusal.is_expired:
                    raise
                environment, secret = await self._register(folder)
                continue
            backoff.reset()
            # What an earlier process took and never began is ours at the first look.
            reclaim = _RECLAIM_SECONDS
            if work is not None and work.session not in self._running:
                task = asyncio.create_task(self._work(folder, environment, work))
                self._running[work.session] = task
                task.add_done_callback(lambda _, session=work.session: self._ended(session))

    def _ended(self, session: str) -> None:
        self._running.pop(session, None)
        self._room.set()

    async def _work(self, folder: Folder, environment: str, work: WorkItem) -> None:
        try:
            secret = decode_work_secret(work.secret)
            await self._client.acknowledge(environment, work.id, secret.session_ingress_token)
            wanted = await asyncio.to_thread(self._wanted, folder, environment, work, secret)
            child = await self._start(folder, work, wanted)
        except (BridleError, OSError) as fault:
            self._note(f"can't start a session in {folder.path}: {fault}")
            await self._report_failure(work, f"Can't start the session: {fault}")
            await self._stop(environment, work, force=True)
            return
        has_own_tree = wanted.options.get("worktree") is True
        branch = "" if has_own_tree else (await self._spawner.facts(folder.path)).branch
        link = SessionLink(
            self._client, work.session, child.shared_session, folder=self._options.upload_folder,
            metadata={"machine": self._membership.name, "folder": folder.path, "branch": branch},
            sealed=self._keys.link(work.session), note=self._note,
        )  # fmt: skip
        if wanted.prompt is not None:
            link.begin_with(wanted.prompt, wanted.who)
        await self._run_session(folder, environment, work, child, link)

    async def _run_session(
        self, folder: Folder, environment: str, work: WorkItem, child: ChildSession, link: SessionLink
    ) -> None:
        running = asyncio.create_task(child.run())
        linking = asyncio.create_task(link.run())
        beating = asyncio.create_task(self._beat(environment, work, link))
        pointing = asyncio.create_task(self._point(folder, work, child))
        try:
            async with asyncio.timeout(self._options.session_seconds):
                await asyncio.wait([running, linking, beating], return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    await linking
        except TimeoutError:
            self._note(f"{child.name} ran too long and was stopped")
        except (HubRefused, HubUnreachable) as fault:
            self._note(f"{child.name}: {fault}")
        finally:
            await child.close()
            for task in (running, linking, beating, pointing):
                task.cancel()
            await asyncio.gather(running, linking, beating, pointing, return_exceptions=True)
        self._pointers.clear(work.session)
        self._note(f"{child.name} has ended")
        await self._stop(environment, work, force=False)

    def _wanted(self, folder: Folder, environment: str, work: WorkItem, secret: WorkSecret) -> StartOptions:
        """What a device wants to be started.

        Raises:
            BridleError: it is not from a device of this machine.
        """
        given = secret.claude_code_args or {}
        ring, pointer = self._keys.ring(), self._pointers.read(work.session)
        if ring is None:
            if "sealed" in given:
                raise BridleError("it is encrypted, and this machine has no keys: run bridle hub trust")
            return StartOptions(given)
        if pointer is not None:
            return StartOptions({})  # It was begun before, and its conversation says how.
        if "sealed" not in given:
            raise BridleError("this machine takes only what its devices have encrypted")
        id = str(given.get("start", ""))
        wish = ring.cipher(f"environment {environment}").open(given, f"start|{id}")
        check_fresh(wish, id, self._keys.seen("started"))
        if wish.get("directory") != folder.path:
            raise BridleError("the device meant another folder")
        prompt = {"do": "prompt", "id": id, "text": wish.get("prompt", ""), "files": wish.get("files")}
        return StartOptions(wish, prompt if str(prompt["text"]).strip() else None, str(wish.get("who", "")))

    async def _start(self, folder: Folder, work: WorkItem, chosen: StartOptions) -> ChildSession:
        """Start a session with what the hub asks for, as far as this machine allows it."""
        wanted, flags = chosen.options, list[str]()
        pointer = self._pointers.read(work.session)
        if pointer is not None:
            flags += ["--resume", pointer.conversation]
        elif wanted.get("worktree") is True:
            flags += ["--worktree", f"hub-{work.session[-8:]}"]
        if isinstance(model := wanted.get("model"), str) and model:
            check_model(model)
            flags += ["--model", model]
        if isinstance(effort := wanted.get("effort"), str) and effort:
            if effort not in EFFORT_LEVELS:
                raise BridleError(f"the effort {effort[:40]!r} can't be chosen remotely")
            flags += ["--effort", effort]
        mode = wanted.get("permission_mode") or wanted.get("mode")
        if mode:
            if mode not in MODES:
                raise BridleError(f"the mode {str(mode)[:40]!r} can't be chosen remotely")
            flags += ["--permission-mode", str(mode)]
        name = f"{self._membership.name}-{os.path.basename(folder.path) or 'session'}"
        return await self._spawner.start(folder.path, flags, name)

    async def _report_failure(self, work: WorkItem, text: str) -> None:
        """Tell those who wait for the session why there is none."""
        sealed = self._keys.link(work.session)
        frame: Mapping[str, Any] = {
            "type": "system", "subtype": "informational", "content": text, "level": "warning",
            "uuid": new_uuid(),
        }  # fmt: skip
        report: Mapping[str, Any] = {"worker_status": "failed", "external_metadata": {"ends": True}}
        if sealed is not None:
            frame, report = sealed.event(frame), sealed.state(report)
        try:
            token = (await self._client.bridge(work.session)).worker_jwt
            await self._client.upload(work.session, [frame], token)
            await self._client.report(work.session, report, token)
        except (HubRefused, HubUnreachable):
            return  # The note of the machine says it.

    async def _point(self, folder: Folder, work: WorkItem, child: ChildSession) -> None:
        """Remember which conversation a session is, as soon as that is known."""
        log, written = child.shared_session.log, ""
        while not log.is_over:
            if child.session_id and child.session_id != written:
                written = child.session_id
                pointer = Pointer(work.session, written, folder.path, "standalone", time.time())
                await asyncio.to_thread(self._pointers.write, pointer)
            await log.changed(log.last)

    async def _beat(self, environment: str, work: WorkItem, link: SessionLink) -> None:
        """Keep the lease; return when the hub says that the work has been stopped."""
        await link.bridged.wait()
        while True:
            try:
                beat = await self._client.beat(environment, work.id, link.token)
                if not beat.lease_extended:
                    return
            except HubRefused as refusal:
                if refusal.status not in (401, 403):
                    return
            except HubUnreachable:
                pass  # The lease lasts for many of these.
            await asyncio.sleep(self._options.beat_seconds)

    async def _stop(self, environment: str, work: WorkItem, *, force: bool) -> None:
        backoff = Backoff(first=1.0, most=4.0, give_up=None)
        for _ in range(_STOP_TRIES):
            try:
                await self._client.stop(environment, work.id, force=force)
            except HubRefused:
                return
            except HubUnreachable:
                await asyncio.sleep(backoff.next() or 0.0)
            else:
                return

    async def _end_sessions(self) -> None:
        running = tuple(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def environment_facts(branch: str, remote: str) -> FolderFacts:
    """What may be shown of a repository: its address without a login."""
    scheme, found, rest = remote.partition("://")
    host = rest.rpartition("@")[2] if found else remote
    return FolderFacts(branch, (f"{scheme}://{host}" if found else host) or None)
