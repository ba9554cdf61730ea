"""What of a trusted folder the user has approved, bound to content: what changes is asked about again."""

import os
import os.path
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bridle.config import approvals
from bridle.config.model_names import OwnModels
from bridle.config.problems import KeyPath, dotted
from bridle.config.source_limits import waiting
from bridle.config.state import is_trusted, trust_root
from bridle.config.validate import check
from bridle.host.files import read_bytes

_STRICTEST = "plan"
_UNNAMED_MODEL = "unnamed/unnamed"
"""A model of a service that no folder names: beside it every name is one of another service."""
_TABLES = ("enabledPlugins", "extraKnownMarketplaces", "modelOverrides", "skillOverrides")
"""Objects whose entries stand for themselves."""
_KIND: approvals.Kind = "content"
_SEEN = "@"
"""Stands in the list once anything was approved, so that an empty list differs from none."""
_LARGEST_SCRIPT = 4 * 1024 * 1024
_BINDING = re.compile(
    rb"hooks|mcpServers|lspServers|permissionMode|allowed-tools|[\"'](?:command|url)[\"']|\\[ux]"
)
"""Words of what runs or widens rights, and escapes that hide them."""
_MOST_PLACES = 8
_QUOTES = re.compile(r"""["'\\]""")
_UNKNOWN = re.compile(r"^(?:\$\w+|\$?\{[^}]*\}|~)")
"""What stands before a name and is known only when the command runs."""
_WORDS = re.compile(r"""[^\s'"`;|&()<>]+""")
_PROJECT = re.compile(r"\$(?:CLAUDE_PROJECT_DIR|PWD)\b|\$\{(?:CLAUDE_PROJECT_DIR|PWD)\}")

Item = tuple[KeyPath, Any]
"""A place in a settings file, and what stands there with the key that it stands under."""


class ContentApprovals:
    """What counts in one folder; asked again whenever its settings are read."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        self._env = env
        self._cwd = cwd
        self.root = trust_root(env, cwd)
        self._first: dict[str, str] = {}
        """What was there when it was first looked at, where nothing is saved."""
        self._settled = False
        self._looked: dict[str, tuple[tuple[int, ...], str]] = {}
        self._others: dict[str, ContentApprovals] = {}

    def missing(self, items: list[Item]) -> list[KeyPath]:
        """Those that the user has not approved as they are now."""
        known = self._known()
        return [path for path, what in items if not self._counts(what, known)]

    def settle(self) -> None:
        """From now on nothing new counts in this session, where nothing is saved."""
        self._settled = True

    def covers_file(self, path: str) -> bool:
        """Whether a file that brings hooks, servers, a mode or allowed tools is as it was approved.

        Trust is exact: a file of another repository, or above this one, counts by the trust that its own
        folder has.
        """
        owner = os.path.abspath(path).rpartition(f"{os.sep}.claude{os.sep}")[0] or os.path.dirname(path)
        if trust_root(self._env, owner) == self.root:
            return self._counts_file(os.path.realpath(path), self._known())
        return is_trusted(self._env, owner) and self._other(owner).covers_file(path)

    def covers_server(self, name: str, definition: Any) -> bool:
        """Whether a server of `.mcp.json`, and the files of the folder that it names, are as approved."""
        what, known = server_item(name, definition), self._known()
        digest = approvals.digest(what)
        counts = self._first.setdefault(what["key"], digest) == digest if known is None else digest in known
        return counts and self.covers_scripts(_commands(what))

    def covers_scripts(self, command: object) -> bool:
        """Whether every file of the folder that a command names is as it was approved."""
        known = self._known()
        return all(self._counts_file(path, known) for path in scripts_of(command, self.root, self._cwd))

    def _other(self, place: str) -> "ContentApprovals":
        if place not in self._others:
            self._others[place] = ContentApprovals(self._env, place)
        return self._others[place]

    def _counts(self, what: Any, known: frozenset[str] | None) -> bool:
        digest = approvals.digest(what)
        if known is None:
            if not self._settled:
                self._first[digest] = digest
            counts = digest in self._first or digest in self._written()
        else:
            counts = digest in known
        files = [self._counts_file(path, known) for path in scripts_of(_commands(what), self.root, self._cwd)]
        return counts and all(files)

    def _counts_file(self, path: str, known: frozenset[str] | None) -> bool:
        digest = self._file_digest(path)
        if known is not None:
            return digest in known
        return self._first.setdefault(path, digest) == digest

    def _known(self) -> frozenset[str] | None:
        """The digests that were approved; None where the folder is trusted as a whole."""
        if trusted_for_one_run(self._env, self.root):
            return None
        written = self._written()
        return written if _SEEN in written else None

    def _written(self) -> frozenset[str]:
        return approvals.names(self._env, self._cwd, kind=_KIND)

    def _file_digest(self, path: str) -> str:
        try:
            facts = os.stat(path)
        except OSError:
            return ""
        now = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        known = self._looked.get(path)
        if known is None or known[0] != now:
            known = self._looked[path] = (now, approvals.digest(_file(path, self.root)))
        return known[1]


def approve_content(env: Mapping[str, str], cwd: str, whats: list[Any], files: list[str]) -> None:
    """Remember that the user approved these values and files of a folder, besides what they did before.

    Raises:
        ConfigError: the file of approvals does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    approvals.add(env, cwd, kind=_KIND, named={_SEEN: "", **_named(env, cwd, whats, files)})


def note_own_change(env: Mapping[str, str], path: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Approve what was just written into a folder's settings in the user's name, and nothing else in them.

    Raises:
        ConfigError: the file of approvals does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    cwd = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    known = {approvals.digest(what) for what in _whats(before)}
    if new := [what for what in _whats(after) if approvals.digest(what) not in known]:
        # Without a mark that the rest was approved: a folder may be trusted for one run only.
        approvals.add(env, cwd, kind=_KIND, named=_named(env, cwd, new, []))


def all_items(values: dict[str, Any]) -> list[Item]:
    """Everything that could ever need trust, whatever the user's own settings say."""
    paths = waiting(values, mode=_STRICTEST, own=OwnModels((_UNNAMED_MODEL,)))
    return items_at(values, paths)


def _named(env: Mapping[str, str], cwd: str, whats: list[Any], files: list[str]) -> dict[str, str]:
    """The digests of values, of files, and of the files that the values name, each with a word about it."""
    root = trust_root(env, cwd)
    named = {approvals.digest(what): _name(what) for what in whats}
    for what in whats:
        files = [*files, *scripts_of(_commands(what), root, cwd)]
    for path in map(os.path.realpath, files):
        named[approvals.digest(_file(path, root))] = os.path.relpath(path, root)
    return named


def _whats(values: dict[str, Any]) -> list[Any]:
    return [what for _, what in all_items(check(values)[0])]


def is_bound(env: Mapping[str, str], cwd: str) -> bool:
    """Whether approvals of the folder's contents are saved."""
    return _SEEN in approvals.names(env, cwd, kind=_KIND)


def trusted_for_one_run(env: Mapping[str, str], root: str) -> bool:
    named = env.get("BRIDLE_TRUST_FOLDER", "")
    return os.path.isabs(named) and trust_root(env, named) == root


def items_at(values: Mapping[str, Any], paths: list[KeyPath]) -> list[Item]:
    """What stands at each path, lists and hooks one by one, so that one change does not undo the rest."""
    return [item for path in paths for item in _split(path, _find(values, path))]


def scripts_of(command: object, root: str, cwd: str) -> list[str]:
    """The files of the folder that a command names; what those read or import themselves is not seen."""
    texts = [command] if isinstance(command, str) else command if isinstance(command, list) else []
    plain = (_QUOTES.sub("", _PROJECT.sub(lambda _: cwd, str(text))) for text in texts)
    words = [word.rpartition("=")[2] for text in plain for word in _WORDS.findall(text)]
    # A command may go into a folder first, and a name may begin with what a variable or a command says.
    folders = [cwd, root, *(path for word in words if os.path.isdir(path := os.path.join(cwd, word)))]
    found: dict[str, None] = {}
    for word in words:
        rest = _UNKNOWN.sub("", word).lstrip("/")
        places = [
            os.path.join(folder, name) for folder in folders[:_MOST_PLACES] for name in (word, rest) if name
        ]
        for path in map(os.path.realpath, places):
            if path.startswith(root + os.sep) and os.path.isfile(path):
                found[path] = None
    return list(found)


def is_binding(path: str) -> bool:
    """Whether a file of an extension may say what runs, so that it is approved as a whole, as it is."""
    try:
        return _BINDING.search(read_bytes(path, _LARGEST_SCRIPT)) is not None
    except OSError:
        return False


def server_item(name: str, definition: Any) -> dict[str, Any]:
    """A server of `.mcp.json` as it is approved."""
    return {"key": f"mcpServers.{name}", "value": definition}


def _split(path: KeyPath, value: Any) -> Iterator[Item]:
    key = dotted(path)
    match value:
        case dict() if path == ("hooks",):
            for event, groups in value.items():
                for number, group in enumerate(groups or ()):
                    for place, hook in enumerate(group.get("hooks") or ()):
                        what = {"key": key, "event": event, "matcher": group.get("matcher"), "value": hook}
                        yield ("hooks", event, number, "hooks", place), what
        case list():
            for number, each in enumerate(value):
                yield (*path, number), {"key": key, "value": each}
        case dict() if path[-1] in _TABLES:
            for name, each in value.items():
                yield (*path, name), {"key": f"{key}.{name}", "value": each}
        case _:
            yield path, {"key": key, "value": value}


def _commands(what: Any) -> list[str]:
    """The command lines in a value: those of hooks, of a status line and the like."""
    value = what.get("value") if isinstance(what, dict) else None
    if isinstance(value, str) and str(what.get("key", "")).endswith(".command"):
        return [value]
    if not isinstance(value, dict) or not isinstance(value.get("command"), str):
        return []
    more = value.get("args")
    return [value["command"], *(map(str, more) if isinstance(more, list) else ())]


def _file(path: str, root: str) -> dict[str, str]:
    from hashlib import sha256

    try:
        content = sha256(read_bytes(path, _LARGEST_SCRIPT)).hexdigest()
    except OSError:
        content = os.urandom(16).hex()  # What cannot be read is never the same again.
    return {"file": os.path.relpath(path, root), "sha256": content}


def _name(what: Any) -> str:
    return str(what.get("key", "")) if isinstance(what, dict) else ""


def _find(values: Any, path: KeyPath) -> Any:
    for part in path:
        values = values[part]
    return values
