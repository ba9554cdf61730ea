"""What a machine remembers of its hub: its key, the folders to serve, and the sessions that run."""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, structs

from bridle.frontends.remote.access import is_near
from bridle.host.files import make_folders, read_bytes, replace_quickly
from bridle.host.paths import bridle_dir
from bridle.types.errors import ConfigError, UsageError

_FILE = "machine.json"
_LARGEST = 1_000_000
POINTER_SECONDS = 14_400.0
"""How long a session that was cut off is taken up again without being asked for."""
_JOINED_SECONDS = 2_592_000.0
"""How long the hub's name for a conversation is remembered that was begun on this machine."""
JOINED = "joined"


class Folder(Struct, frozen=True):
    """A folder in which the hub may start sessions."""

    path: str
    environment: str
    """The id under which the hub knows it, also before it has answered for the first time."""


class Membership(Struct, frozen=True):
    """This machine at its hub."""

    url: str
    key: str
    name: str
    folders: tuple[Folder, ...] = ()

    def with_folder(self, folder: Folder) -> "Membership":
        others = tuple(each for each in self.folders if each.path != folder.path)
        return structs.replace(self, folders=(*others, folder))

    def without(self, path: str) -> "Membership":
        return structs.replace(self, folders=tuple(each for each in self.folders if each.path != path))


class Pointer(Struct, frozen=True):
    """A session of the hub that this machine runs, and the conversation that it is."""

    session: str
    """Its name at the hub."""
    conversation: str
    folder: str
    source: str
    at: float


def load_membership(env: Mapping[str, str]) -> Membership:
    """What `bridle hub join` has written.

    Raises:
        UsageError: this machine has not joined a hub.
        ConfigError: the file is damaged.
    """
    path = membership_path(env)
    try:
        return msgspec.json.decode(read_bytes(path, _LARGEST), type=Membership)
    except FileNotFoundError as error:
        raise UsageError("this machine has not joined a hub: bridle hub join URL CODE") from error
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"can't read {path}: {error}. Join again with: bridle hub join URL CODE") from error


def save_membership(env: Mapping[str, str], membership: Membership) -> None:
    """Keep it, for this user alone."""
    path = membership_path(env)
    make_folders(os.path.dirname(path), private=True)
    replace_quickly(path, msgspec.json.encode(membership))


def membership_path(env: Mapping[str, str]) -> str:
    return os.path.join(machine_folder(env), _FILE)


def machine_folder(env: Mapping[str, str]) -> str:
    return os.path.join(bridle_dir(env), "hub-machine")


def read_hub_url(text: str) -> str:
    """The address of a hub.

    Raises:
        UsageError: it is none, or would send keys unencrypted through a network.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{text!r} is not an address: use https://host") from error
    if parts.scheme not in ("http", "https") or not host or port == 0 or parts.username or parts.query:
        raise UsageError(f"{text!r} is not an address: use https://host")
    if parts.scheme == "http" and not is_near(host):
        raise UsageError("http sends keys unencrypted: use https, or a tunnel to 127.0.0.1")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


class Pointers:
    """The sessions that this machine runs for its hub, one file each, so that a crash loses none."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._folder = os.path.join(machine_folder(env), "sessions")

    def write(self, pointer: Pointer) -> None:
        make_folders(self._folder, private=True)
        replace_quickly(self._path(pointer.session), msgspec.json.encode(pointer))

    def read(self, session: str) -> Pointer | None:
        try:
            return msgspec.json.decode(read_bytes(self._path(session), _LARGEST), type=Pointer)
        except (OSError, msgspec.MsgspecError):
            return None

    def clear(self, session: str) -> None:
        try:
            os.unlink(self._path(session))
        except FileNotFoundError:
            return  # It was cleared before, or there never was a conversation.

    def fresh(self, now: float) -> list[Pointer]:
        """Those of a time short enough to take the session up again; older ones are removed."""
        return [each for each in self._kept(now) if each.source != JOINED]

    def of_conversation(self, conversation: str, now: float) -> Pointer | None:
        """What the hub calls a conversation that was begun on this machine."""
        known = (each for each in self._kept(now) if each.source == JOINED)
        return next((each for each in known if each.conversation == conversation), None)

    def _kept(self, now: float) -> list[Pointer]:
        found = list[Pointer]()
        for name in sorted(os.listdir(self._folder)) if os.path.isdir(self._folder) else ():
            pointer = self.read(name.removesuffix(".json"))
            if pointer is None or now - pointer.at > _lifetime(pointer):
                os.unlink(os.path.join(self._folder, name))
            else:
                found.append(pointer)
        return found

    def _path(self, session: str) -> str:
        return os.path.join(self._folder, f"{session}.json")


def _lifetime(pointer: Pointer) -> float:
    return _JOINED_SECONDS if pointer.source == JOINED else POINTER_SECONDS
