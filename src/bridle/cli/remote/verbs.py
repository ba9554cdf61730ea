"""`bridle remote`: names for sessions on other machines, to which this user's sessions may write."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from bridle.cli.say import say, tell
from bridle.config.remotes import Remote, Remotes
from bridle.types.errors import UsageError

_HELP = """\
bridle remote: sessions on other machines that yours may write to

  add <name> <address>   name one; the address is what /remote-control shows there, with the key;
                         - reads it from standard input, where no other program sees it
  list                   show them, and whether they can be reached
  remove <name>          forget one

Messages go with SendMessage to remote:<name>, and you are asked about each.
"""
_TOKEN_LENGTH = 43


def run_remote(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one subcommand and return the exit code.

    Raises:
        BridleError: what was asked for cannot be done.
    """
    match list(argv):
        case [] | ["--help" | "-h" | "help"]:
            return say(_HELP)
        case ["add", name, address]:
            Remotes(env).add(name, read_address(sys.stdin.readline() if address == "-" else address))
            return tell(f"{name} is known now: sessions here write to it as remote:{name}.")
        case ["list"]:
            return _list(env)
        case ["remove" | "rm", name]:
            if not Remotes(env).remove(name):
                raise UsageError(f"there is no session called {name!r}; bridle remote list shows those known")
            return tell(f"{name} is forgotten.")
        case _:
            raise UsageError("use bridle remote add <name> <address>, list, or remove <name>")


def read_address(text: str) -> Remote:
    """An address with its key, as a session shows it; of the key only what lets messages in is kept.

    Raises:
        UsageError: it is none.
    """
    from bridle.frontends.remote.guard import letter_token

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
    return "this is not an address with its key: copy what /remote-control shows, up to the last character"


def _list(env: Mapping[str, str]) -> int:
    from bridle.engine.teams.remote import remote_contacts

    found = asyncio.run(remote_contacts(env))
    lines = [f"{each.address}  {each.status}  {each.about}" for each in found]
    return tell(*(lines or ["No sessions on other machines are known; bridle remote add names one."]))
