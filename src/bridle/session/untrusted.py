"""What of a folder that is not trusted was left out, in one line with the ways to allow it."""

import os

from bridle.session.setup import Setup
from bridle.types.text import one_line

WAYS = "allow it with --trust, BRIDLE_TRUST_FOLDER, `bridle trust` or managed settings"
_MOST_NAMED = 6
_LONGEST_NAME = 100


def left_out(setup: Setup) -> tuple[tuple[str, str], ...]:
    """The file and the key of all that does not count, because the folder is not trusted."""
    if setup.trusted:
        return ()
    settings = [(_short(setup, each.file), each.key or "all") for each in setup.left_out]
    # A stranger chose the names: they are cut, and without control characters.
    return tuple(
        (one_line(file), one_line(key, _LONGEST_NAME)) for file, key in (*settings, *_servers(setup))
    )


def notice(setup: Setup) -> str | None:
    """The line for people; None where nothing was left out."""
    found = left_out(setup)
    if not found:
        return None
    named = ", ".join(f"{key} ({file})" for file, key in found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f"this folder is not trusted, ignored: {named}{more}; {WAYS}"


def _servers(setup: Setup) -> list[tuple[str, str]]:
    """The servers of the project that wait for trust."""
    if setup.options.bare or setup.options.strict_mcp_config:
        return []
    from bridle.config.mcp.servers import UNTRUSTED, ServerSources, find_servers

    found = find_servers(ServerSources(config=setup.config, env=setup.env, trusted=False))
    waiting = (each for each in found.servers if each.off == UNTRUSTED)
    return [(_short(setup, each.file), f"mcpServers.{each.name}") for each in waiting]


def _short(setup: Setup, path: str) -> str:
    folder = setup.cwd.rstrip("/") + "/"
    return os.path.relpath(path, folder) if path.startswith(folder) else path
