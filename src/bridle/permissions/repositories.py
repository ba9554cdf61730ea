"""Whether git can be let loose on a repository that nobody has vouched for."""

import os.path
import re

from msgspec.structs import replace

from bridle.host.git import find_root
from bridle.types.shell import Part, Reading

_LARGEST = 64 * 1024
_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks"
    r"|autocrlf|eol|safecrlf|quotepath|abbrev)"
    r"|remote\.(?:url|pushurl|fetch|tagopt|prune|partialclonefilter|promisor)"
    r"|branch\.(?:remote|merge|rebase|pushremote|description|vscode-merge-base)"
    r"|(?:user\.(?:name|email)|init\.defaultbranch|pull\.rebase|pull\.ff|push\.default|color\.ui)"
    r"|submodule\.(?:url|active|branch)|extensions\.(?:objectformat|partialclone)|lfs\.repositoryformatversion"
)
_SECTION = re.compile(r"\[\s*([\w.-]+)(?:\s+\"(?:[^\"\\]|\\.)*\")?\s*\]\s*(.*)")
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=|$)")


def without_planted_git(reading: Reading) -> Reading:
    """The reading with git no longer taken for harmless where a repository could run its own programs."""
    parts = tuple(_wary(part) for part in reading.parts)
    return reading if parts == reading.parts else replace(reading, parts=parts)


def planted(folder: str) -> str | None:
    """What a repository has that makes even a reading git command run programs, if anything."""
    root = find_root(folder)
    if root is None:
        return None
    directory = os.path.join(root, ".git")
    if not os.path.isdir(directory):
        return None if os.path.lexists(directory) else f"{root} is not an ordinary repository"
    if os.path.lexists(os.path.join(directory, "config.worktree")):
        return f"{directory}/config.worktree may name programs"
    if hook := _hook(os.path.join(directory, "hooks")):
        return f"{hook} could run"
    return _odd_key(os.path.join(directory, "config"))


def _wary(part: Part) -> Part:
    words = (part.deny_forms[-1] if part.deny_forms else part.text).split(maxsplit=1)
    if not part.harmless or words[:1] != ["git"]:
        return part
    reason = next(filter(None, map(planted, part.reads or ("/",))), None)
    if reason is None:
        return part
    return replace(part, harmless=False, why=f"this folder is not trusted, and {reason}")


def _hook(folder: str) -> str | None:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    return next((os.path.join(folder, name) for name in names if not name.endswith(".sample")), None)


def _odd_key(path: str) -> str | None:
    """The first setting that is not known to be harmless; what cannot be read is odd as a whole."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        return f"{path} cannot be read"
    if len(text) > _LARGEST or "\\\n" in text:
        return f"{path} is not an ordinary one"
    section = ""
    for line in map(str.strip, text.splitlines()):
        opened = _SECTION.fullmatch(line)
        section, setting = (opened[1].lower(), opened[2]) if opened else (section, line)
        if not setting or setting[0] in "#;":
            continue
        key = _KEY.match(setting)
        if key is None or not _HARMLESS.fullmatch(f"{section}.{key[1].lower()}"):
            return f"{path} sets {section}.{key[1] if key else setting[:40]}"
    return None
