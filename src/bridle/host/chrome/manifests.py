"""Tells browsers which program to start: a small file for each, in the folder where it looks."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from bridle.host.chrome.native_host import ORIGIN
from bridle.host.chrome.paths import chrome_dir, extension_dir, launcher
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.jobs.paths import private_folder

HOST = "dev.bridle.browser"
BROWSERS = ("chrome", "chromium", "edge", "brave")
TITLES = {"chrome": "Google Chrome", "chromium": "Chromium", "edge": "Microsoft Edge", "brave": "Brave"}
_ON_LINUX = {
    "chrome": "google-chrome",
    "chromium": "chromium",
    "edge": "microsoft-edge",
    "brave": "BraveSoftware/Brave-Browser",
}
_ON_MAC = {
    "chrome": "Google/Chrome",
    "chromium": "Chromium",
    "edge": "Microsoft Edge",
    "brave": "BraveSoftware/Brave-Browser",
}
_LARGEST = 64 * 1024
_FILES = ("background.js", "debug.js", "link.js", "manifest.json", "methods.js", "page.js", "tabs.js")
"""What the extension is made of."""


class BrowserFolder(Struct, frozen=True):
    """One browser on this machine."""

    name: str
    folder: str
    """What it keeps for the user; it makes the folder when it first runs."""

    @property
    def title(self) -> str:
        return TITLES[self.name]

    @property
    def manifest(self) -> str:
        return os.path.join(self.folder, "NativeMessagingHosts", f"{HOST}.json")

    @property
    def is_used(self) -> bool:
        """Whether the user has run this browser."""
        return os.path.isdir(self.folder)


def browser_folders(env: Mapping[str, str], platform: str = sys.platform) -> tuple[BrowserFolder, ...]:
    """Every browser that bridle knows, whether it is there or not."""
    home = env.get("HOME") or os.path.expanduser("~")
    if platform == "darwin":
        base, names = os.path.join(home, "Library", "Application Support"), _ON_MAC
    else:
        base, names = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), _ON_LINUX
    return tuple(BrowserFolder(name, os.path.join(base, names[name])) for name in BROWSERS)


def is_installed(place: BrowserFolder, env: Mapping[str, str]) -> bool:
    """Whether this browser starts the launcher of this configuration."""
    return _named_program(place) == launcher(env)


def install(chosen: tuple[BrowserFolder, ...], env: Mapping[str, str]) -> None:
    """Write the extension, the launcher and a manifest for each browser.

    Raises:
        OSError: one of them cannot be written.
    """
    make_folders(os.path.dirname(chrome_dir(env)), private=True)
    private_folder(chrome_dir(env))
    make_folders(extension_dir(env), private=True)
    for name in _FILES:
        data = read_bytes(os.path.join(_source(), name), _LARGEST)
        write_atomic(os.path.join(extension_dir(env), name), data, mode=0o600)
    write_atomic(launcher(env), _launcher_text(env).encode(), mode=0o700)
    for place in chosen:
        make_folders(os.path.dirname(place.manifest), private=True)
        write_atomic(place.manifest, _manifest(env), mode=0o600)


def uninstall(env: Mapping[str, str], platform: str = sys.platform) -> tuple[BrowserFolder, ...]:
    """Remove what `install` wrote; the browsers that had a manifest. Those of others stay.

    Raises:
        OSError: a file cannot be removed.
    """
    found = tuple(place for place in browser_folders(env, platform) if is_installed(place, env))
    for place in found:
        os.unlink(place.manifest)
    shutil.rmtree(extension_dir(env), ignore_errors=True)
    try:
        os.unlink(launcher(env))
    except FileNotFoundError:
        pass  # It was never installed.
    return found


def _named_program(place: BrowserFolder) -> str | None:
    try:
        values = msgspec.json.decode(read_bytes(place.manifest, _LARGEST), type=dict[str, object])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    path = values.get("path")
    return path if isinstance(path, str) else None


def _manifest(env: Mapping[str, str]) -> bytes:
    values = {
        "name": HOST,
        "description": "Connects bridle sessions with this browser",
        "path": launcher(env),
        "type": "stdio",
        "allowed_origins": [ORIGIN],
    }
    return msgspec.json.format(msgspec.json.encode(values), indent=2) + b"\n"


def _launcher_text(env: Mapping[str, str]) -> str:
    """A browser has neither the variables of a terminal nor words to add, so both stand here."""
    lines = ["#!/bin/sh", *_variables(env)]
    return "\n".join(
        [*lines, f'exec {shlex.quote(sys.executable)} -P -m bridle --chrome-native-host "$1"', ""]
    )


def _variables(env: Mapping[str, str]) -> Iterator[str]:
    if folder := env.get("CLAUDE_CONFIG_DIR"):
        yield f"export CLAUDE_CONFIG_DIR={shlex.quote(os.path.abspath(folder))}"


def _source() -> str:
    """The extension in the installed package, else in the checkout."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    installed = os.path.join(package, "browser_extension")
    if os.path.isdir(installed):
        return installed
    return os.path.join(os.path.dirname(os.path.dirname(package)), "browser", "extension")
