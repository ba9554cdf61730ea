"""Path patterns of rules and exclusions: `*` and `?` within a name, `**` across names, `{a,b}`."""

from fnmatch import fnmatchcase

_MOST_FORMS = 64
"""Alternatives multiply; a pattern with more forms than this is cut short."""


def matches(pattern: str, path: str) -> bool:
    """Whether a whole path fits a pattern, in time that no pattern can blow up; `dir/` means all below."""
    names = path.split("/")
    return any(_fits(_parts(form), names) for form in _forms(pattern))


def _parts(form: str) -> list[str]:
    return (f"{form}**" if form.endswith("/") else form).removeprefix("./").split("/")


def _fits(parts: list[str], names: list[str]) -> bool:
    # `reached[i]` tells whether the parts so far can take up exactly the first `i` names.
    reached = [True] + [False] * len(names)
    for part in parts:
        if part == "**":
            first = reached.index(True) if True in reached else len(reached)
            reached = [place >= first for place in range(len(reached))]
        else:
            steps = zip(reached, names, strict=False)
            reached = [False, *(before and fnmatchcase(name, part) for before, name in steps)]
    return reached[-1]


def _forms(pattern: str) -> list[str]:
    """The pattern without braces, once for each alternative."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) < _MOST_FORMS:
        form = waiting.pop(0)
        opening = form.rfind("{")
        closing = form.find("}", opening)
        if opening < 0 or closing < 0:
            done.append(form)
            continue
        # The last opening brace has no other inside, so inner alternatives are resolved first.
        choices = form[opening + 1 : closing].split(",")
        waiting += [form[:opening] + choice + form[closing + 1 :] for choice in choices[:_MOST_FORMS]]
        del waiting[_MOST_FORMS:]
    return done
