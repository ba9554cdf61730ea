"""Arithmetic in which nothing but numbers can stand: no subscript, no command, no text."""

import re

_OUTER = re.compile(r"\$?\(\((.*)\)\)", re.DOTALL)
_SHOWN = re.compile(r"\$\{#?([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\$[#?$]", re.ASCII)
_TAME = re.compile(r"[\w\s+*/%()<>=!&|^~?:,;-]*", re.ASCII)
_NAME = re.compile(r"(?<!\w)[A-Za-z_]\w*", re.ASCII)
_BEGINS = re.compile(r"\(\(\s*([A-Za-z_]\w*)\s*=\s*\d+\s*;", re.ASCII)


def computed_names(text: str) -> frozenset[str] | None:
    """The variables that arithmetic looks at or sets; None where it may do more than count with them."""
    outer = _OUTER.fullmatch(text.strip())
    if outer is None:
        return None
    shown = {name for found in _SHOWN.finditer(outer[1]) for name in found.groups() if name}
    plain = _SHOWN.sub("1", outer[1])
    if _TAME.fullmatch(plain) is None:
        return None
    return frozenset(shown | set(_NAME.findall(plain)))


def begun_name(text: str) -> str | None:
    """The variable that `((i=0; …))` sets before it looks at any."""
    found = _BEGINS.match(text)
    return found[1] if found else None
