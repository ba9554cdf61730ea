"""`bridle chrome`: connect browsers with bridle, and say which are connected."""

import asyncio
from collections.abc import Mapping

from bridle.cli.say import tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.host.chrome import manifests
from bridle.host.chrome.manifests import BrowserFolder
from bridle.host.chrome.native_host import serve_browser
from bridle.host.chrome.paths import extension_dir
from bridle.host.paths import display_path
from bridle.types.errors import UsageError

_STEPS = (
    "Load the extension once in each browser:",
    "  1. Open chrome://extensions and turn on Developer mode.",
    "  2. Choose Load unpacked, and this folder: {folder}",
    "Then start a session with bridle --chrome, or turn it on with /chrome on.",
)


def run_native_host(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Relay between the extension and sessions until the browser ends."""
    return serve_browser(given.one("origin"), env)


def install(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Write what browsers need to find bridle.

    Raises:
        UsageError: there is no browser, or a file cannot be written.
    """
    named = given.all("browser")
    known = manifests.browser_folders(env)
    chosen = tuple(place for place in known if (place.name in named if named else place.is_used))
    if not chosen:
        names = ", ".join(place.name for place in known)
        raise UsageError(f"no browser found: start it once, or name it: bridle chrome install [{names}]")
    try:
        manifests.install(chosen, env)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from error
    rows = [f"{place.title}: wrote {display_path(place.manifest, env)}" for place in chosen]
    folder = display_path(extension_dir(env), env)
    return tell(*rows, *(line.format(folder=folder) for line in _STEPS))


def uninstall(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Remove it again.

    Raises:
        UsageError: a file cannot be removed.
    """
    del given
    try:
        found = manifests.uninstall(env)
    except OSError as error:
        raise UsageError(f"cannot remove {error.filename}: {error.strerror}") from error
    if not found:
        return tell("No browser was set up.")
    rows = (f"{place.title}: removed {display_path(place.manifest, env)}" for place in found)
    return tell(*rows, "Remove the extension itself at chrome://extensions.")


def status(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Which browsers can find bridle, and which are connected now."""
    from bridle.features.browser.connection import find_browsers

    del given
    rows = [f"{place.title}: {_state(place, env)}" for place in manifests.browser_folders(env)]
    running = asyncio.run(find_browsers(env))
    rows += [f"Connected: {each.label} (extension {each.extension})" for each in running]
    return tell(*rows, *(() if running else ("No browser with the extension is running.",)))


def _state(place: BrowserFolder, env: Mapping[str, str]) -> str:
    if manifests.is_installed(place, env):
        return "installed"
    return "not installed" if place.is_used else "not found on this machine"
