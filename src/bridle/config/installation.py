"""How bridle was installed on this machine, and what installs another version of it."""

import os
import sys
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct

NAME = "bridle"
Kind = Literal["pipx", "uv tool", "conda", "source", "distribution", "pip", "uv", "pip --user", "unknown"]
_LARGEST = 1_000_000
_OF_SYSTEMS = ("/usr/lib", "/usr/lib64", "/usr/share")


class Installation(Struct, frozen=True, kw_only=True):
    """One installation of bridle."""

    kind: Kind
    place: str
    """The folder of the environment that it is in."""
    version: str
    python: str = sys.executable
    source: str = ""
    """The folder or address that it was installed from, where that is no index of packages."""

    @property
    def summary(self) -> str:
        words = {
            "pipx": "installed with pipx",
            "uv tool": "installed as a uv tool",
            "conda": "installed in a conda environment",
            "source": "run from source",
            "distribution": "installed by the system's package manager",
            "pip": "installed with pip in a virtual environment",
            "uv": "installed with uv in a virtual environment",
            "pip --user": "installed with pip install --user",
            "unknown": "installed in an unknown way",
        }[self.kind]
        return f"{words}: {self.source or self.place}"

    def command(self, version: str = "") -> list[str] | None:
        """What installs a version, or the newest; None where only the user can.

        What came from a file or an address is never looked for in an index: the name may be another's there.
        pipx and uv remember where a tool came from."""
        if self.source and (version or self.kind not in ("pipx", "uv tool")):
            return None
        wanted = f"{NAME}=={version}" if version else NAME
        match self.kind:
            case "pipx":
                return ["pipx", "install", "--force", wanted] if version else ["pipx", "upgrade", NAME]
            case "uv tool":
                return (
                    ["uv", "tool", "install", "--force", wanted]
                    if version
                    else ["uv", "tool", "upgrade", NAME]
                )
            case "uv":
                return ["uv", "pip", "install", "--python", self.python, "--upgrade", wanted]
            case "pip":
                return [self.python, "-m", "pip", "install", "--upgrade", wanted]
            case "pip --user":
                return [self.python, "-m", "pip", "install", "--user", "--upgrade", wanted]
            case "conda" | "source" | "distribution" | "unknown":
                return None

    @property
    def advice(self) -> str:
        """What the user does where nothing can be run for them."""
        if self.source and self.kind in ("pipx", "uv tool", "uv", "pip", "pip --user"):
            return f"installed from {self.source}: install the new version from there"
        match self.kind:
            case "source":
                return f"update the checkout: git -C {self.source or self.place} pull"
            case "conda":
                return f"update it with conda: conda update -p {self.place} {NAME}"
            case "distribution":
                return f"update it with the package manager of your system, for example: {_manager()}"
            case _:
                return f"reinstall it with pipx or uv: pipx install {NAME}, uv tool install {NAME}"

    def question(self) -> list[str] | None:
        """What asks the index of packages for the newest version without installing anything."""
        if self.source or self.command() is None:
            return None
        if self.kind in ("uv tool", "uv"):
            return [
                "uv", "pip", "install", "--python", self.python, "--dry-run", "--no-deps", "--upgrade", NAME,
            ]  # fmt: skip
        pip = ["pipx", "runpip", NAME] if self.kind == "pipx" else [self.python, "-m", "pip"]
        flags = ["--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--report", "-"]
        return [*pip, "install", *flags, NAME]


def this_installation(version: str) -> Installation:
    """The one that runs now."""
    place = sys.prefix
    source, editable, installer, files = _metadata()
    kind: Kind = "unknown"
    if os.path.exists(os.path.join(place, "uv-receipt.toml")):
        kind = "uv tool"
    elif os.path.exists(os.path.join(place, "pipx_metadata.json")):
        kind = "pipx"
    elif editable or not files:
        kind, source = "source", source or _checkout()
    elif os.path.isdir(os.path.join(place, "conda-meta")):
        kind = "conda"
    elif sys.prefix != sys.base_prefix:
        kind = "uv" if installer == "uv" else "pip"
    elif files.startswith(_OF_SYSTEMS):
        kind = "distribution"
    elif f"{files}/".startswith(_user_site()):
        kind = "pip --user"
    return Installation(kind=kind, place=place, version=version, source=source)


def others_on_path(env: Mapping[str, str]) -> list[str]:
    """Programs of this name on the path, in the order in which a shell finds them."""
    found: dict[str, str] = {}
    for folder in env.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, NAME)
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def may_be_changed(found: Installation) -> bool:
    """Whether this user may write where it is installed."""
    return os.access(found.place if found.kind != "source" else found.source or found.place, os.W_OK)


def _metadata() -> tuple[str, bool, str, str]:
    """Where it was installed from, whether that is used in place, by which program, and where it is."""
    from importlib.metadata import Distribution, PackageNotFoundError

    try:
        found = Distribution.from_name(NAME)
    except PackageNotFoundError:
        return "", False, "", ""
    folder = str(found.locate_file(""))
    installer = (found.read_text("INSTALLER") or "").strip()
    try:
        direct = msgspec.json.decode(found.read_text("direct_url.json") or "{}", type=dict[str, object])
    except msgspec.DecodeError:
        direct = {}
    address = str(direct.get("url", "")).removeprefix("file://")[:500]
    info = direct.get("dir_info")
    return address, isinstance(info, dict) and info.get("editable") is True, installer, folder


def _checkout() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _user_site() -> str:
    import site

    try:
        return site.getusersitepackages()
    except (OSError, AttributeError):
        return "\0"


def _manager() -> str:
    for program, command in (
        ("apt-get", f"sudo apt-get install --only-upgrade {NAME}"),
        ("dnf", f"sudo dnf upgrade {NAME}"),
        ("pacman", f"sudo pacman -Syu {NAME}"),
        ("apk", f"sudo apk upgrade {NAME}"),
        ("brew", f"brew upgrade {NAME}"),
        ("zypper", f"sudo zypper update {NAME}"),
    ):
        if any(
            os.path.exists(os.path.join(folder, program))
            for folder in ("/usr/bin", "/sbin", "/opt/homebrew/bin")
        ):
            return command
    return f"your package manager's upgrade of {NAME}"
