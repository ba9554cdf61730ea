"""Whether git can be let loose on a repository: its configuration must be known to start nothing."""

import os.path
import re
import stat
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bridle.permissions.files.git_layout import Repository, discover, found_at, tracked
from bridle.permissions.word_lists import listed
from bridle.types.shell import Part, Reading

_LARGEST = 64 * 1024
_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks"
    r"|autocrlf|eol|safecrlf|quotepath|abbrev|sparsecheckout|sparsecheckoutcone|longpaths|protectntfs|protecthfs"
    r"|untrackedcache|commitgraph|multipackindex|compression|preloadindex|trustctime|checkstat|whitespace"
    r"|sharedrepository|hidedotfiles|splitindex|commentchar)"
    r"|remote\.(?:url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|skipdefaultupdate|gh-resolved|pushdefault)"
    r"|branch\.(?:remote|merge|rebase|pushremote|description|vscode-merge-base|autosetupmerge|autosetuprebase|sort"
    r"|gh-merge-base|github-pr-owner-number)"
    r"|user\.(?:name|email|signingkey|useconfigonly)|init\.defaultbranch|pull\.(?:rebase|ff)|rerere\.enabled"
    r"|push\.(?:default|autosetupremote|followtags)|fetch\.(?:prune|prunetags|parallel|writecommitgraph)"
    r"|color\.(?:ui|branch|diff|status|interactive)|merge\.(?:conflictstyle|ff)|rebase\.(?:autosquash|autostash)"
    r"|commit\.(?:gpgsign|template)|tag\.(?:gpgsign|sort)|gc\.(?:auto|autodetach|pruneexpire)|advice\.\w+"
    r"|diff\.(?:renames|renamelimit|algorithm|mnemonicprefix|noprefix|colormoved)|log\.(?:date|decorate|follow)"
    r"|status\.(?:short|branch|showuntrackedfiles|submodulesummary)|pack\.\w+|index\.(?:version|threads|sparse)"
    r"|feature\.(?:manyfiles|experimental)|maintenance\.(?:auto|strategy)|receive\.denycurrentbranch"
    r"|url\.(?:insteadof|pushinsteadof)|submodule\.(?:url|active|branch|ignore|fetchrecursesubmodules|recurse)"
    r"|extensions\.(?:objectformat|refstorage|worktreeconfig|relativeworktrees|noop|preciousobjects)"
    r"|lfs\.(?:repositoryformatversion|url|\w*\.access)|gitflow\.[\w.-]+"
)
"""Settings with which nothing is started and nothing outside is read, whatever git only looks at."""
_SECTION = re.compile(r"\[\s*([\w.-]+)(?:\s+\"(?:[^\"\\]|\\.)*\")?\s*\]\s*(.*)")
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*)|$)")
_PLAIN_PATH = re.compile(r"[\w./ +@-]+")
_LATER_HOOKS = listed("""
    applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
    post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive
    post-update push-to-checkout pre-auto-gc post-rewrite sendemail-validate
""")
"""Hooks that no command runs which only looks."""
_LAYOUT = listed(
    ".git head config config.worktree commondir objects refs packed-refs gitdir hooks info index"
)
"""Names that make a folder a repository, or change one."""
_DEEPEST = 4


class KnownRepository(Struct, frozen=True):
    """The repository that a session was started in, and whether the user trusts it."""

    start: str
    origins: tuple[str, ...] = ()
    trusted: bool = True


def with_known_repositories(reading: Reading, known: KnownRepository) -> Reading:
    """The reading with git taken for harmless only where the repository it finds can start nothing."""
    if not any(_is_git(part) for part in reading.parts):
        return reading
    making = _makes_repository(reading)
    parts = tuple(_wary(part, known, making) if _is_git(part) else part for part in reading.parts)
    return reading if parts == reading.parts else replace(reading, parts=parts)


def planted(repository: Repository, depth: int = 0) -> str | None:
    """What a repository has that could make a git command that only looks start something, if anything."""
    git_dir, common = repository.git_dir, repository.common
    if hook := _hook(os.path.join(common, "hooks")) or _hook(os.path.join(git_dir, "hooks")):
        return f"{hook} could run"
    if os.path.lexists(alternates := os.path.join(common, "objects", "info", "alternates")):
        return f"{alternates} refers to objects elsewhere"
    for name in dict.fromkeys((
        os.path.join(common, "config"),
        os.path.join(git_dir, "config"),
        os.path.join(git_dir, "config.worktree"),
        os.path.join(common, "config.worktree"),
    )):  # fmt: skip
        if reason := _odd_key(name, repository):
            return reason
    return _planted_below(repository, depth)


def _planted_below(repository: Repository, depth: int) -> str | None:
    """What is planted in repositories below this one, which git asks, too, when it looks for changes."""
    if repository.bare:
        return None
    names = tracked(repository)
    if names is None or depth > _DEEPEST:
        return f"{repository.git_dir}/index cannot be parsed"
    for inner in (name for own, name in names if own):
        below = found_at(os.path.join(repository.top, inner))
        if below is not None and (reason := planted(below, depth + 1)):
            return reason
    return None


def _is_git(part: Part) -> bool:
    return part.harmless and any(name.rpartition("/")[2] == "git" for name in part.programs)


def _wary(part: Part, known: KnownRepository, making: str | None) -> Part:
    reason = making or next(filter(None, (_doubt(place, known) for place in part.runs_in)), None)
    if not part.runs_in:
        reason = "it is unclear which repository git uses"
    return part if reason is None else replace(part, harmless=False, why=reason)


def _doubt(place: str, known: KnownRepository) -> str | None:
    found = discover(place)
    if known.trusted and len(found) == 1 and not found[0].bare and found[0].guarded:
        starts = (known.start, *known.origins)
        own = (each for start in starts for each in (found if start == place else discover(start))[-1:])
        if any(each.common == found[0].common and not each.bare for each in own):
            return None
    for repository in found:
        if reason := planted(repository):
            return f"{_which(repository, known)}, and {reason}"
    return None


def _which(repository: Repository, known: KnownRepository) -> str:
    if not known.trusted:
        return "this folder is not trusted"
    return f"{repository.top} is not this session's repository"


def _makes_repository(reading: Reading) -> str | None:
    """What the command itself writes that could change which repository git finds, or its configuration."""
    writes: Sequence[str] = [path for part in reading.parts for path in part.writes]
    made = next((path for path in writes if os.path.basename(path).casefold() in _LAYOUT), None)
    if made is not None:
        return f"the command writes {made}, which git could treat as part of a repository"
    if writes and any(part.copies for part in reading.parts):
        return "the command copies folders, which could contain a repository"
    return None


def _hook(folder: str) -> str | None:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    odd = (name for name in names if not name.endswith(".sample") and name not in _LATER_HOOKS)
    return next((os.path.join(folder, name) for name in odd), None)


def _odd_key(path: str, repository: Repository) -> str | None:
    """The first setting that is not known to be harmless; what cannot be read is odd as a whole."""
    text = _read(path)
    if text == "":
        return None
    if text is None:
        return f"{path} cannot be read"
    if len(text) > _LARGEST or "\\\n" in text or "\r" in text.replace("\r\n", "\n") or "\0" in text:
        return f"{path} is not a regular file"
    section = ""
    for line in map(str.strip, text.split("\n")):
        opened = _SECTION.fullmatch(line)
        section, setting = (opened[1].lower(), opened[2]) if opened else (section, line)
        if not setting or setting[0] in "#;":
            continue
        key = _KEY.fullmatch(setting)
        name = f"{section}.{key[1].lower()}" if key else ""
        if key is not None and name == "core.worktree" and _is_own_tree(key[2] or "", path, repository):
            continue
        if key is None or not _HARMLESS.fullmatch(name):
            return f"{path} sets {section}.{key[1] if key else setting[:40]}"
    return None


def _is_own_tree(value: str, path: str, repository: Repository) -> bool:
    """Whether a work tree is the folder in which the repository was found, as in a submodule."""
    if not _PLAIN_PATH.fullmatch(value):
        return False
    return os.path.realpath(os.path.join(os.path.dirname(path), value)) == os.path.realpath(repository.top)


def _read(path: str) -> str | None:
    """A configuration; empty where there is none, None for what cannot be read."""
    try:
        # A pipe in its place must not make the gate wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    try:
        with os.fdopen(descriptor, encoding="utf-8") as file:
            return file.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (OSError, UnicodeDecodeError):
        return None
