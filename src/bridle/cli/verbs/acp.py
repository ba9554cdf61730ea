"""`bridle acp`: an editor runs bridle as its agent."""

import asyncio
import gc
import signal
from collections.abc import Mapping

from bridle.cli.args import parse
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.options import SessionOptions
from bridle.types.errors import UsageError


def run_acp(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Serve the editor on the standard streams, or ask for a key where it runs this in a terminal.

    Raises:
        UsageError: a flag has a value that it does not take.
    """
    if given.on("login"):
        from bridle.cli.verbs.auth import login

        return login(given, env)
    from bridle.frontends.acp.server import serve_editor

    gc.enable()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        asyncio.run(serve_editor(env, _options(given)))
    except KeyboardInterrupt:
        return 0  # The editor ends its agent like this.
    return 0


def _options(given: ParsedArguments) -> SessionOptions:
    from msgspec.structs import replace

    from bridle.cli.options import session_options

    chosen = session_options(parse([*_flags(given)]))
    if chosen.prompt:
        raise UsageError("bridle acp takes no prompt: the editor sends it.")
    return replace(
        chosen,
        output_format="stream-json",
        input_format="stream-json",
        verbose=True,
        permission_prompt_tool="stdio",
    )


def _flags(given: ParsedArguments) -> list[str]:
    words: list[str] = []
    for name in ("model", "permission-mode", "settings"):
        if (value := given.text(name)) is not None:
            words += [f"--{name}", value]
    for name in ("add-dir", "plugin-dir", "mcp-config"):
        for value in given.all(name):
            words += [f"--{name}", value]
    return words
