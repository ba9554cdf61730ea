"""The agent's end of the Agent Client Protocol: every request that an editor may make."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from bridle.config.options import SessionOptions
from bridle.frontends.acp.content import Json
from bridle.frontends.acp.editor import EditorCapabilities
from bridle.frontends.acp.peer import (
    AUTH_REQUIRED,
    CANCELLED,
    INVALID_REQUEST,
    NOT_FOUND,
    EditorPeer,
    RequestError,
)
from bridle.frontends.acp.session import EditorSession
from bridle.host.jsonlines import read_lines
from bridle.host.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from bridle.host.stdio import complain
from bridle.host.streams import Output
from bridle.providers.credentials.store import Credentials
from bridle.providers.model_listing import Choice, offer
from bridle.session.prepare import set_up
from bridle.session.setup import Setup
from bridle.transcripts import management
from bridle.transcripts.listing import SessionInfo, list_sessions
from bridle.types.errors import BridleError, UsageError
from bridle.version import __version__

PROTOCOL = 1
_STDIN, _STDOUT = 0, 1
_PAGE = 50
_MOST_SESSIONS = 100
_MOST_SERVERS = 100
_MOST_FOLDERS = 100
_LAST_WORDS = 2.0
_NO_KEY = "No key for the model: run `bridle auth login` in a terminal, or start the editor with a key set."

Params = Mapping[str, Any]


class AcpServer:
    """Serves one editor; many sessions share the process."""

    def __init__(self, env: Mapping[str, str], options: SessionOptions, output: Output) -> None:
        """`options` are what every session begins with."""
        self._env = env
        self._options = options
        self._peer = EditorPeer(output, answer=self._answer, notified=self._notified)
        self._sessions: dict[str, EditorSession] = {}
        self._abilities = EditorCapabilities()
        self._introduced = False
        self._methods: Mapping[str, Callable[[Params], Awaitable[Json]]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "logout": self._logout,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/delete": self._delete,
            "session/close": self._close,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }

    async def run(self, descriptor: int = _STDIN) -> None:
        """Serve until the editor closes its end."""
        try:
            async for line in read_lines(descriptor):
                self._peer.take_line(line)
        finally:
            await asyncio.gather(*(each.close() for each in self._sessions.values()))
            await self._peer.drain(_LAST_WORDS)
            await self._peer.close()

    def _answer(self, method: str, params: Params) -> "Awaitable[Json] | None":
        handler = self._methods.get(method)
        return None if handler is None else self._handled(handler, method, params)

    async def _handled(
        self, handler: Callable[[Params], Awaitable[Json]], method: str, params: Params
    ) -> Json:
        try:
            if not self._introduced and method != "initialize":
                raise RequestError(INVALID_REQUEST, "The first request must be initialize.")
            return {"result": await handler(params)}
        except RequestError as error:
            return dict(error.to_response())
        except management.Unknown as error:
            return dict(RequestError(NOT_FOUND, str(error)).to_response())
        except UsageError as error:
            return dict(RequestError(INVALID_PARAMS, str(error)).to_response())
        except (BridleError, OSError) as error:
            return dict(RequestError(INTERNAL_ERROR, str(error)).to_response())
        except asyncio.CancelledError:
            return dict(RequestError(CANCELLED, "The request was cancelled.").to_response())
        except Exception as error:
            # A defect fails one request, and the editor is not left waiting for its answer.
            words = f"internal error in bridle: {type(error).__name__}: {error}"
            complain(f"error: {words}")
            return dict(RequestError(INTERNAL_ERROR, words).to_response())

    def _notified(self, method: str, params: Params) -> None:
        session = self._sessions.get(str(params.get("sessionId")))
        if method == "session/cancel" and session is not None:
            session.cancel()

    async def _initialize(self, params: Params) -> Json:
        version = params.get("protocolVersion")
        if not isinstance(version, int):
            raise UsageError("initialize needs a protocolVersion, which is a whole number.")
        self._introduced = True
        self._abilities = EditorCapabilities.read(params.get("clientCapabilities"))
        nothing: Json = {}
        return {
            "protocolVersion": PROTOCOL,
            "agentInfo": {"name": "bridle", "title": "bridle", "version": __version__},
            "authMethods": self._auth_methods(),
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": True},
                "sessionCapabilities": {
                    "list": nothing,
                    "delete": nothing,
                    "additionalDirectories": nothing,
                    "resume": nothing,
                    "close": nothing,
                    "fork": nothing,
                },
                "auth": {"logout": nothing},
            },
        }

    def _auth_methods(self) -> list[Json]:
        methods: list[Json] = [
            {
                "id": "key",
                "name": "Key from the environment or bridle auth",
                "description": "Run `bridle auth login` in a terminal, or start the editor with a key set.",
            }
        ]
        if self._abilities.logs_in:
            login = {"type": "terminal", "id": "login", "name": "Log in with an API key", "args": ["--login"]}
            methods.insert(0, {**login, "description": "Asks for a key in a terminal and saves it."})
        return methods

    async def _authenticate(self, params: Params) -> Json:
        if params.get("methodId") != "key":
            raise UsageError("Unknown method: use key, or login in a terminal.")
        _require_key(self._set_up(os.getcwd(), self._options))
        return {}

    async def _logout(self, params: Params) -> Json:
        del params
        credentials = Credentials(self._env)
        for vendor in list(credentials.vendors()):
            credentials.forget(vendor)
        return {}

    async def _new(self, params: Params) -> Json:
        session = await self._open(params, self._options)
        return self._opened(session, {"sessionId": session.id, **session.state()})

    async def _load(self, params: Params) -> Json:
        session = await self._continued(params)
        session.replay()
        return self._opened(session, session.state())

    async def _resume(self, params: Params) -> Json:
        session = await self._continued(params)
        return self._opened(session, session.state())

    async def _fork(self, params: Params) -> Json:
        options = replace(self._options, resume=_session_id(params), fork_session=True)
        session = await self._open(params, options)
        return self._opened(session, {"sessionId": session.id, **session.state()})

    async def _list(self, params: Params) -> Json:
        cursor, cwd = params.get("cursor"), params.get("cwd")
        if cursor is not None and not (isinstance(cursor, str) and cursor.isdecimal() and len(cursor) < 10):
            raise UsageError("Unknown cursor: use one from session/list.")
        folder = None if cwd is None else _folder(cwd)
        start = int(cursor or 0)
        found = await asyncio.to_thread(
            list_sessions, self._env, directory=folder, limit=_PAGE + 1, offset=start
        )
        listed: Json = {"sessions": [_listed(each) for each in found[:_PAGE] if each.cwd]}
        return {**listed, "nextCursor": str(start + _PAGE)} if len(found) > _PAGE else listed

    async def _delete(self, params: Params) -> Json:
        session_id = _session_id(params)
        if (session := self._sessions.pop(session_id, None)) is not None:
            await session.close()
        await asyncio.to_thread(management.delete, session_id, self._env)
        return {}

    async def _close(self, params: Params) -> Json:
        session = self._find(params)
        del self._sessions[session.id]
        await session.close()
        return {}

    async def _prompt(self, params: Params) -> Json:
        return await self._find(params).prompt(params.get("prompt"))

    async def _set_mode(self, params: Params) -> Json:
        self._find(params).choices.set_mode(params.get("modeId"))
        return {}

    async def _set_option(self, params: Params) -> Json:
        choices = self._find(params).choices
        await choices.set_option(params.get("configId"), params.get("value"))
        return {"configOptions": choices.options()}

    async def _continued(self, params: Params) -> EditorSession:
        session_id = _session_id(params)
        if (known := self._sessions.pop(session_id, None)) is not None:
            await known.close()
        return await self._open(params, replace(self._options, resume=session_id))

    async def _open(self, params: Params, options: SessionOptions) -> EditorSession:
        if len(self._sessions) >= _MOST_SESSIONS:
            raise RequestError(INTERNAL_ERROR, f"{_MOST_SESSIONS} sessions are open: close one first.")
        folders = params.get("additionalDirectories") or []
        if not isinstance(folders, list) or len(folders) > _MOST_FOLDERS:
            raise UsageError(f"additionalDirectories must be a list of at most {_MOST_FOLDERS} folders.")
        options = replace(
            options,
            add_dir=(*options.add_dir, *map(_folder, folders)),
            mcp_config=(*options.mcp_config, *_servers(params.get("mcpServers"))),
        )
        setup = self._set_up(_folder(params.get("cwd")), options)
        _require_key(setup)
        session = EditorSession(self._peer, self._abilities, setup)
        await session.open()
        return session

    def _opened(self, session: EditorSession, result: Json) -> Json:
        self._sessions[session.id] = session
        self._peer.behind(result, session.begin)
        return result

    def _set_up(self, cwd: str, options: SessionOptions) -> Setup:
        env = {"CLAUDE_CODE_ENTRYPOINT": "acp", **self._env}
        return set_up(options, env, cwd=cwd)

    def _find(self, params: Params) -> EditorSession:
        session_id = _session_id(params)
        if (session := self._sessions.get(session_id)) is None:
            raise RequestError(NOT_FOUND, f"No session {session_id[:80]} is open: load it first.")
        return session


async def serve_editor(env: Mapping[str, str], options: SessionOptions) -> None:
    """Speak the protocol on the standard streams until the editor is gone."""
    gone = asyncio.Event()
    server = AcpServer(env, options, Output(_STDOUT, on_closed=lambda _: gone.set()))
    serving = asyncio.create_task(server.run())
    leaving = asyncio.create_task(gone.wait())
    await asyncio.wait([serving, leaving], return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if not serving.done():
        serving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    try:
        await serving
    except asyncio.CancelledError:
        if not gone.is_set():
            raise


def _require_key(setup: Setup) -> None:
    choice = Choice(
        settings=setup.config.settings, own=setup.config.raw.get("bridleModels") or {}, env=setup.env
    )
    if offer(setup.model, choice).key == "missing":
        raise RequestError(AUTH_REQUIRED, _NO_KEY)


def _session_id(params: Params) -> str:
    session_id = params.get("sessionId")
    if not isinstance(session_id, str) or not session_id:
        raise UsageError("sessionId is missing.")
    return session_id


def _folder(path: object) -> str:
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
        raise UsageError("A folder must be given as an absolute path.")
    if not os.path.isdir(path):
        raise UsageError(f"No such folder: {path[:500]}.")
    return os.path.normpath(path)


def _servers(given: object) -> tuple[str, ...]:
    """MCP servers of the editor, as the flag of the command line takes them."""
    if given is None or given == []:
        return ()
    if not isinstance(given, list) or len(given) > _MOST_SERVERS:
        raise UsageError(f"mcpServers must be a list of at most {_MOST_SERVERS} servers.")
    configs: dict[str, Json] = {}
    for server in given:
        match server:
            case {"type": "http" | "sse" as kind, "name": str() as name, "url": str() as url}:
                configs[name] = {"type": kind, "url": url, "headers": _pairs(server.get("headers"))}
            case {"name": str() as name, "command": str() as command}:
                args = [str(each) for each in server.get("args") or ()]
                configs[name] = {"command": command, "args": args, "env": _pairs(server.get("env"))}
            case _:
                raise UsageError("A server of mcpServers needs a name, and a command or a url.")
    return (msgspec.json.encode({"mcpServers": configs}).decode(),)


def _pairs(given: object) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for each in given if isinstance(given, list) else ():
        match each:
            case {"name": str() as name, "value": str() as value}:
                pairs[name] = value
            case _:
                raise UsageError("Headers and variables must be objects with a name and a value.")
    return pairs


def _listed(info: SessionInfo) -> Json:
    moment = datetime.fromtimestamp(info.last_modified / 1000, UTC).isoformat()
    return {"sessionId": info.session_id, "cwd": info.cwd, "title": info.summary, "updatedAt": moment}
