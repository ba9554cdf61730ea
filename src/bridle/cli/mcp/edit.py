"""`bridle mcp add`, `add-json`, `add-from-claude-desktop`, `remove` and `reset-project-choices`."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.load import load
from bridle.config.mcp.entry import read_entry
from bridle.config.mcp.policy import Policy
from bridle.config.mcp.servers import desktop_config_path, read_desktop_config
from bridle.host.stdio import ask_secret
from bridle.mcp.approvals import FileScope, forget_choices, remove_server, scopes_of, write_server
from bridle.types.errors import ConfigError, UsageError
from bridle.types.services.mcp import Server

_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def run_edit(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Change a definition in its file.

    Raises:
        UsageError: the words are off.
        ConfigError: a file cannot be used.
    """
    cwd = os.getcwd()
    try:
        match given.command[-1]:
            case "add":
                return _add(given, env, cwd)
            case "add-json":
                return _add_json(given, env, cwd)
            case "add-from-claude-desktop":
                return _add_from_desktop(given, env, cwd)
            case "remove":
                return _remove(given, env, cwd)
            case _:
                forget_choices(env, cwd)
                return say("Reset the approvals of this project's servers. The next session asks again.\n")
    except OSError as error:
        raise ConfigError(f"no changes made: {error}") from error


def _add(given: ParsedArguments, env: Mapping[str, str], cwd: str) -> int:
    transport, name, target, rest = (
        given.text("transport") or "stdio", given.one("name"), given.one("target"), given.all("args"),
    )  # fmt: skip
    scope = _scope(given) or "local"
    raw = _program(given, target, rest) if transport == "stdio" else _remote(given, transport, target, rest)
    file = _write(name, raw, scope, env=env, cwd=cwd)
    if given.on("client-secret"):
        _keep_secret(name, raw, env)
    shown = f"with command: {' '.join((target, *rest))}" if transport == "stdio" else f"with URL: {target}"
    return tell(f"Added {transport} MCP server {name} {shown} to {scope} config", f"File modified: {file}")


def _add_json(given: ParsedArguments, env: Mapping[str, str], cwd: str) -> int:
    name, text = given.one("name"), given.one("json")
    try:
        raw = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"the definition is not a JSON object: {error}") from error
    scope = _scope(given) or "local"
    file = _write(name, raw, scope, env=env, cwd=cwd)
    if given.on("client-secret"):
        _keep_secret(name, raw, env)
    kind = raw.get("type", "stdio")
    return tell(f"Added {kind} MCP server {name} to {scope} config", f"File modified: {file}")


def _add_from_desktop(given: ParsedArguments, env: Mapping[str, str], cwd: str) -> int:
    path = desktop_config_path(sys.platform, env)
    found = read_desktop_config(path)
    if not found:
        return tell(f"No MCP servers in {path}.")
    wanted = given.all("names") or list(found)
    if unknown := [name for name in wanted if name not in found]:
        raise UsageError(f"{path} has no server {unknown[0]!r}; it has {', '.join(found)}")
    scope, lines = _scope(given) or "local", list[str]()
    for name in wanted:
        ours = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        try:
            _write(ours, found[name], scope, env=env, cwd=cwd)
            lines.append(f"Added {ours}")
        except (ConfigError, UsageError) as error:
            lines.append(f"Skipped {ours}: {error}")
    return tell(*lines)


def _remove(given: ParsedArguments, env: Mapping[str, str], cwd: str) -> int:
    name = given.one("name")
    scopes, wanted = scopes_of(name, env, cwd), _scope(given)
    if not scopes or (wanted is not None and wanted not in scopes):
        where = f" in {wanted} config" if wanted is not None else ""
        raise UsageError(f"unknown MCP server {name!r}{where}; list them with: bridle mcp list")
    if wanted is None and len(scopes) > 1:
        raise UsageError(
            f"{name} is in several scopes ({', '.join(scopes)}): choose one, such as bridle mcp remove "
            f"{name} -s {next(iter(scopes))}"
        )
    scope = wanted or next(iter(scopes))
    file = remove_server(name, scope, env=env, cwd=cwd)
    _forget_login(name, scopes[scope], env)
    return tell(f"Removed MCP server {name} from {scope} config", f"File modified: {file}")


def _write(name: str, raw: Mapping[str, Any], scope: FileScope, *, env: Mapping[str, str], cwd: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"invalid server name {name!r}: use letters, digits, - and _")
    try:
        # Variables that are not set here may be set where the server is used.
        entry = read_entry(name, raw, _AnyVariable(env))
    except ConfigError as error:
        raise UsageError(f"{name} {error}") from error
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None)
    if (objection := Policy(config).objection(Server(name=name, config=entry, scope=scope))) is not None:
        raise UsageError(f"the server {name} is not allowed here: {objection}")
    return write_server(name, raw, scope, env=env, cwd=cwd)


class _AnyVariable(dict[str, str]):
    """An environment in which every variable is set to something."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, "https://unset.example" if default is None else default)


def _scope(given: ParsedArguments) -> FileScope | None:
    match given.text("scope"):
        case "local" | "project" | "user" as scope:
            return scope
        case _:
            return None


def _program(given: ParsedArguments, command: str, args: Sequence[str]) -> dict[str, Any]:
    if command.startswith(("http://", "https://")):
        raise UsageError(f"{command} is a URL: pass --transport http or --transport sse")
    pairs = [each.partition("=") for each in given.all("env")]
    if wrong := [name for name, equals, _ in pairs if not equals or not name]:
        raise UsageError(f"--env takes KEY=value, not {wrong[0]!r}")
    return {
        "type": "stdio",
        "command": command,
        "args": list(args),
        "env": {name: value for name, _, value in pairs},
    }


def _remote(given: ParsedArguments, transport: str, url: str, rest: Sequence[str]) -> dict[str, Any]:
    if rest:
        raise UsageError(f"a URL takes no arguments: {rest[0]!r}")
    raw: dict[str, Any] = {"type": transport, "url": url}
    headers = [each.partition(":") for each in given.all("header")]
    if wrong := [name for name, colon, _ in headers if not colon or not name.strip()]:
        raise UsageError(f'--header takes "Name: value", not {wrong[0]!r}')
    if headers:
        raw["headers"] = {name.strip(): value.strip() for name, _, value in headers}
    oauth: dict[str, Any] = {}
    if (client := given.text("client-id")) is not None:
        oauth["clientId"] = client
    if (port := given.text("callback-port")) is not None:
        oauth["callbackPort"] = int(port)
    return {**raw, "oauth": oauth} if oauth else raw


def _keep_secret(name: str, raw: Mapping[str, Any], env: Mapping[str, str]) -> None:
    secret = env.get("MCP_CLIENT_SECRET")
    if not secret:
        if not os.isatty(0):
            raise UsageError("--client-secret needs a terminal, or the secret in MCP_CLIENT_SECRET")
        secret = ask_secret("Client secret: ")
    server = Server(name=name, config=read_entry(name, raw, env), scope="user")
    from bridle.mcp.auth.authorizers import Authorizers
    from bridle.mcp.auth.saved_logins import login_key

    Authorizers(env).logins.save_client_secret(login_key(server), secret)


def _forget_login(name: str, raw: Any, env: Mapping[str, str]) -> None:
    """A login without its server has no use."""
    if not isinstance(raw, dict) or raw.get("type") not in ("http", "sse", "ws"):
        return
    from bridle.mcp.auth.authorizers import Authorizers
    from bridle.mcp.auth.saved_logins import login_key

    try:
        server = Server(name=name, config=read_entry(name, raw, env), scope="user")
    except ConfigError:
        return  # Its variables are not set, so there is no login either.
    logins = Authorizers(env).logins
    logins.forget(login_key(server))
    logins.save_client_secret(login_key(server), None)
