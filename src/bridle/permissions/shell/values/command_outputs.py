"""What a command substitution prints, where its last command shows that it can be nothing but a number."""

import re
from typing import Literal

Printed = Literal["numbers", "several", "object", "objects", "text"]
"""One number, several numbers, the name of an object of git, several of those, or anything."""

_WHOLE = re.compile(r"\$\((.*)\)", re.DOTALL)
_QUOTED = re.compile(r"""'([^']*)'|"([^"$`\\]*)\"""")
_UNFOLLOWED = re.compile(r"""[;&`\\'"(){}\n$]|\|\|""")
_NUMBERS = re.compile(
    r"wc -[lwcm](?:\s*<\s*[\w./-]+)?|nproc|date \+%s|git rev-list --count [A-Za-z][\w./~^-]*"
    r"|grep -[iEFvw]*c[iEFvw]* \w[\w.:=]*(?: \w[\w./]*)?"
)
_SEVERAL = re.compile(r"seq(?: \d+){1,3}")
_OBJECT = re.compile(
    r"git rev-parse(?: --short(?:=\d+)?| --verify)* [A-Za-z][\w./~^-]*|git log -1 --format=%[hH]"
    r"|git merge-base [A-Za-z][\w./~^-]* [A-Za-z][\w./~^-]*|git rev-list -(?:1|n 1) [A-Za-z][\w./~^-]*"
)
_LIMITS = r"(?: -\d+| -n ?\d+| --max-count=\d+| --no-merges| --reverse| --first-parent)*"
_OBJECTS = re.compile(
    rf"git log{_LIMITS} --format=%[hH]{_LIMITS}(?: [A-Za-z][\w./~^-]*)?"
    rf"|git rev-list{_LIMITS} [A-Za-z][\w./~^-]*{_LIMITS}"
)
_PART = re.compile(r"\$\((dirname|basename) (\w[\w./-]*)(?: (\.\w+))?\)", re.ASCII)


def printed(substitution: str) -> Printed:
    """What kind of text `$(…)` comes to."""
    whole = _WHOLE.fullmatch(substitution)
    if whole is None:
        return "text"
    before, _, last = _QUOTED.sub(_stand_in, whole[1]).replace("2>/dev/null", "").rpartition("|")
    if before.endswith("|") or _UNFOLLOWED.search(before.replace("2>&1", "")) or _UNFOLLOWED.search(last):
        return "text"
    last = " ".join(last.split())
    if _NUMBERS.fullmatch(last):
        return "numbers"
    if _SEVERAL.fullmatch(last):
        return "several"
    if before or ".." in last:
        return "text"
    return "object" if _OBJECT.fullmatch(last) else "objects" if _OBJECTS.fullmatch(last) else "text"


def path_part(substitution: str) -> str | None:
    """What `$(dirname …)` and `$(basename …)` of a plain path come to; None for anything else."""
    found = _PART.fullmatch(substitution)
    if found is None or (found[1] == "dirname" and found[3]) or found[2].endswith("/"):
        return None
    folder, _, name = found[2].rpartition("/")
    if found[1] == "dirname":
        return folder.rstrip("/") or "."
    return name.removesuffix(found[3]) if found[3] and name != found[3] else name


def _stand_in(found: re.Match[str]) -> str:
    """One word for what stands in quotes, unless it could be an option or nothing."""
    content = found[1] or found[2] or ""
    return "quoted" if content and not content.startswith("-") else "-quoted"
