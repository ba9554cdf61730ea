"""`bridle hub serve` and what is done to its store on the same machine."""

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Concatenate, ParamSpec, TypeVar

from bridle.cli.hub.pictures import show_code
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.hub import environments, identity, sessions
from bridle.frontends.hub.database import StoreError, back_up, connect, database_path, migrate
from bridle.frontends.hub.hub import Options
from bridle.frontends.hub.serve import Address, read_address, serve
from bridle.host.paths import bridle_dir
from bridle.types.errors import UsageError

P = ParamSpec("P")
T = TypeVar("T")

_DAY_SECONDS = 86_400


def serve_hub(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Serve until a signal ends it."""
    address = read_address(
        given.text("listen") or "", given.text("tls-cert") or "", given.text("tls-key") or ""
    )
    folder, proxied = _folder(given, env), given.on("behind-https")
    options = Options(
        folder=folder,
        listen=address.host,
        hosts=",".join(given.all("host")),
        is_secure=bool(address.certificate) or proxied,
    )

    def ready(port: int) -> None:
        new = not _transact(folder, identity.devices)
        _transact(folder, _note_address, public_address(given.all("host"), address, port, is_proxied=proxied))
        hint = "Pair a device with: bridle hub pair\n" if new else ""
        say(f"Serving {address.url(port)}, with data in {folder}. Stop it with ctrl+c.\n{hint}")

    serve(options, address, ready=ready)
    return 0


def show_status(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Count what the store holds."""
    folder = _folder(given, env)
    machines = _transact(folder, identity.machines)
    folders = _transact(folder, environments.all_environments)
    running = _transact(folder, sessions.all_sessions)
    asks = _transact(folder, sessions.questions)
    lines = [
        f"address   {_address(given, env) or 'not served yet: bridle hub serve'}",
        f"data      {folder}",
        f"devices   {len(_transact(folder, identity.devices))}",
        f"machines  {len(machines)}",
        f"sessions  {len(running)}",
        f"waiting   {_plural(len(asks), 'question')}",
    ]
    for machine in machines:
        own = [each.directory for each in folders if each.machine == machine.id]
        lines.append(f"  {machine.name}  {_age(machine.seen)}  {', '.join(own) or 'no folders'}")
    return tell(*lines)


def pair_device(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show a code to pair a device."""
    role = given.text("role") or "answer"
    if role not in identity.ROLES:
        raise UsageError(f"--role must be one of {', '.join(identity.ROLES)}")
    name = given.text("name") or ""
    code = _transact(_folder(given, env), identity.make_code, kind="device", role=role, name=name)
    url = _address(given, env)
    if url:
        show_code(f"{url}/#pair={code}")
    where = f"Open {url}/#pair={code}, or type this code" if url else "Type this code"
    return say(
        f"{code}\n{where} on the page of the hub within ten minutes. The device may then {_rights(role)}.\n"
    )


def add_machine(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show a code to add a machine."""
    name = given.text("name") or ""
    code = _transact(_folder(given, env), identity.make_code, kind="machine", role="", name=name)
    url = _address(given, env) or "URL"
    return say(f"{code}\nRun this on the machine within ten minutes: bridle hub join {url} {code}\n")


def list_devices(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """List devices and machines."""
    folder = _folder(given, env)
    rows = [
        f"{each.id}  {each.name}  {each.role}  seen {_age(each.seen)}"
        for each in _transact(folder, identity.devices)
    ]
    rows += [
        f"{each.id}  {each.name}  machine  seen {_age(each.seen)}"
        for each in _transact(folder, identity.machines)
    ]
    return tell(*(rows or ["No devices. Pair one with: bridle hub pair"]))


def revoke(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Revoke the key of a device or machine."""
    folder, name = _folder(given, env), given.one("device")
    id = _transact(folder, identity.revoke, name, actor="the owner")
    return tell(f"Revoked {id}. Its key is no longer valid.")


def back_up_hub(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Back up the data of the hub, even while it runs."""
    target = os.path.abspath(given.one("file"))
    back_up(database_path(_folder(given, env)), target)
    return tell(f"Saved {target}. It contains the secret of the hub: keep it private.")


def restore_hub(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Put a copy in the place of the store."""
    folder, source = _folder(given, env), os.path.abspath(given.one("file"))
    path = database_path(folder)
    if not os.path.isfile(source):
        raise UsageError(f"{source} does not exist")
    _check_backup(source)
    if os.path.exists(path):
        if not given.on("force"):
            raise UsageError(f"{path} exists: stop the hub and add --force to replace it")
        kept = f"{path}.{time.strftime('%Y%m%d-%H%M%S')}"
        back_up(path, kept)
        for each in (path, f"{path}-wal", f"{path}-shm"):
            if os.path.exists(each):
                os.unlink(each)
        tell(f"Kept the old store as {kept}.")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    back_up(source, path)
    migrate(path)
    return tell(f"Restored {path}.")


def public_address(names: Sequence[str], address: Address, port: int, *, is_proxied: bool) -> str:
    """Where devices reach the hub, as far as the command line says it."""
    if not names:
        return address.url(port)
    scheme = "https" if is_proxied or address.certificate else "http"
    ends = is_proxied or (scheme, port) in (("https", 443), ("http", 80))
    return f"{scheme}://{names[0]}{'' if ends else f':{port}'}"


def _note_address(base: sqlite3.Connection, url: str) -> None:
    base.execute("INSERT OR REPLACE INTO meta VALUES ('address', ?)", (url.encode(),))


def _address(given: ParsedArguments, env: Mapping[str, str]) -> str:
    """Where the hub was reached when it was served last; empty if it never was."""

    def read(base: sqlite3.Connection) -> str:
        row = base.execute("SELECT value FROM meta WHERE key = 'address'").fetchone()
        return row[0].decode() if row else ""

    return _transact(_folder(given, env), read)


def hub_folder(env: Mapping[str, str]) -> str:
    """Where a hub keeps its data by default."""
    return os.path.join(bridle_dir(env), "hub")


def _folder(given: ParsedArguments, env: Mapping[str, str]) -> str:
    return os.path.abspath(given.text("data") or env.get("BRIDLE_HUB_DATA") or hub_folder(env))


def _transact(
    folder: str, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run one job on the store; a hub that runs sees it at once."""
    path = database_path(folder)
    migrate(path)
    try:
        with closing(connect(path)) as base:
            base.execute("BEGIN IMMEDIATE")
            done = job(base, *args, **kwargs)
            base.execute("COMMIT")
            return done
    except sqlite3.Error as error:
        raise StoreError(f"can't use {path}: {error}") from error


def _check_backup(path: str) -> None:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
            (state,) = base.execute("PRAGMA quick_check").fetchone()
            tables = base.execute("SELECT 1 FROM sqlite_master WHERE name = 'sessions'").fetchone()
    except sqlite3.Error as error:
        raise UsageError(f"{path} is not a backup of a hub: {error}") from error
    if state != "ok" or tables is None:
        raise UsageError(f"{path} is not a backup of a hub, or is damaged")


def _rights(role: str) -> str:
    rights = {
        "watch": "watch",
        "answer": "watch and answer questions",
        "steer": "watch, answer questions and send prompts",
        "start": "do everything: watch, answer, send prompts and start sessions",
    }
    return rights[role]


def _age(at: float) -> str:
    seconds = max(0, int(time.time() - at))
    for size, name in ((_DAY_SECONDS, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{_plural(seconds // size, name)} ago"
    return "now"


def _plural(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
