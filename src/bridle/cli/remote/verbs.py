"""`bridle remote`: names for sessions on other machines, to which this user's sessions may write."""

import asyncio
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from bridle.cli.background.job_lookup import find_job, is_live
from bridle.cli.say import tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.remote_sessions import Remote, Remotes
from bridle.frontends.remote.access import letter_token
from bridle.host.jobs import protocol, records
from bridle.host.jobs.launcher import JobError
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean

_TOKEN_LENGTH = 43


def add_remote(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Name a session.

    Raises:
        UsageError: the address or the name cannot be used.
    """
    name, address = given.one("name"), given.one("address")
    Remotes(env).add(name, read_address(sys.stdin.readline() if address == "-" else address))
    return tell(f"Added {name}. Sessions here can message it as remote:{name}.")


def list_remotes(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """List the sessions, and whether they can be reached."""
    del given
    from bridle.features.teams.remote import remote_contacts

    found = asyncio.run(remote_contacts(env))
    lines = [f"{each.address}  {each.status}  {each.about}" for each in found]
    return tell(*(lines or ["No sessions on other machines. Add one with: bridle remote add"]))


def remove_remote(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Forget a session.

    Raises:
        UsageError: there is none of this name.
    """
    name, remotes = given.one("name"), Remotes(env)
    if not remotes.remove(name):
        hint = did_you_mean(name, remotes.all()) or "; list them with: bridle remote list"
        raise UsageError(f"unknown session {name!r}{hint}")
    return tell(f"Removed {name}.")


def show_address(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print where a background session is shared, with its key.

    Raises:
        JobError: there is no such session, it has ended, or it is not shared.
    """
    _, facts = find_job(given.one("id"), env)
    if not is_live(facts):
        raise JobError(f"{facts['id']} has ended: start it again with bridle respawn {facts['id']}")
    address = _address_of(facts)
    if not address:
        raise JobError(f"{facts['id']} is not shared: attach to it and run /remote-control")
    return tell(address)


def _address_of(facts: records.Facts) -> str:
    frames = protocol.Frames()
    try:
        with protocol.connect(facts["socket"]) as connection:
            connection.sendall(protocol.frame(protocol.ADDRESS))
            while data := connection.recv(64 * 1024):
                for kind, payload in frames.feed(data):
                    if kind == protocol.ADDRESS:
                        return payload.decode()
    except (OSError, protocol.Broken) as error:
        raise JobError(f"can't ask {facts['id']} for its address: {error}") from error
    return ""


def read_address(text: str) -> Remote:
    """An address with its key, as a session shows it; of the key only what lets messages in is kept.

    Raises:
        UsageError: it is none.
    """
    try:
        parts = urlsplit(text.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise UsageError(_no_address()) from None
    if not usable or parts.username or parts.query or len(parts.fragment) != _TOKEN_LENGTH:
        raise UsageError(_no_address())
    path = parts.path if parts.path.endswith("/") else f"{parts.path}/"
    return Remote(f"{parts.scheme}://{parts.netloc}{path}", letter_token(parts.fragment))


def _no_address() -> str:
    return "the address has no key: copy the whole address that /remote-control shows"
