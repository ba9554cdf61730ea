"""Decides whether a hook's matcher speaks of an event."""

import re
import string

from msgspec import Struct

from bridle.types.agent import AGENT_TOOL, FORMER_AGENT_TOOL

_NAMES = frozenset(string.ascii_letters + string.digits + "_-,| ")
_NARROW_NAMES = frozenset(string.ascii_letters + string.digits + "_|")
_NARROW_EVENTS = ("FileChanged", "StopFailure")
"""Where commas, hyphens and spaces make a regular expression."""
_FORMER_NAMES = {AGENT_TOOL: FORMER_AGENT_TOOL}
"""Tools that older files know under another name."""


class Matcher(Struct, frozen=True, kw_only=True):
    """A matcher read once; one that cannot be used matches nothing."""

    everything: bool = False
    names: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    error: str | None = None

    def matches(self, subject: str | None) -> bool:
        """Whether the hook is called; events without a subject call every hook."""
        if self.everything or subject is None:
            return self.error is None
        former = _FORMER_NAMES.get(subject)
        if self.pattern is not None:
            return any(self.pattern.search(name) for name in (subject, former) if name is not None)
        return subject in self.names or former in self.names


def read_matcher(text: str | None, event: str) -> Matcher:
    """Nothing or `*` is everything, plain names are exact, the rest is searched as a regular expression."""
    if text is None or text in ("", "*"):
        return Matcher(everything=True)
    if set(text) <= (_NARROW_NAMES if event in _NARROW_EVENTS else _NAMES):
        names = (name.strip() for name in text.replace(",", "|").split("|"))
        return Matcher(names=frozenset(name for name in names if name))
    try:
        return Matcher(pattern=re.compile(_in_python(text), re.ASCII))
    except (re.error, OverflowError, RecursionError) as error:
        return Matcher(error=f"{error} in the regular expression {text[:200]!r}")


_TOKEN = re.compile(
    r"""
    (?P<control>  \\c[A-Za-z])
  | (?P<code>     \\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}))
  | (?P<named>    \\k<(?P<name>\w+)>)
  | (?P<shared>   \\(?:[dDwWsSbBnrtfv]|[1-9]\d*|[^A-Za-z0-9]))
  | (?P<literal>  \\[A-Za-z])
  | (?P<null>     \\0)
  | (?P<any>      \[\^\])
  | (?P<none>     \[\])
  | (?P<open>     \[\^?)
  | (?P<close>    \])
  | (?P<label>    \(\?<(?=\w))
  | (?P<group>    \((?:\?(?:[:=!]|<[=!]|[ims]*(?:-[ims]+)?:))?(?!\?))
  | (?P<repeat>   (?:[*+?]|\{\d+(?:,\d*)?\})\??)
  | (?P<end>      \$)
  | (?P<brace>    [{}])
  | (?P<foreign>  \(\?)
  | (?P<plain>    [^\\])
    """,
    re.VERBOSE | re.DOTALL,
)
"""The parts of a JavaScript expression that Python writes otherwise, or does not have."""


def _in_python(text: str) -> str:
    """A JavaScript regular expression as Python spells it.

    Lookbehind of varying width is the one thing that Python cannot do. Letters and digits are those of ASCII,
    as in JavaScript without the `u` flag, and so is white space, which is not.

    Raises:
        re.error: it is not one.
    """
    written: list[str] = []
    in_class = repeated = False
    position = 0
    while position < len(text):
        if (token := _TOKEN.match(text, position)) is None:
            raise re.error("a lone backslash at the end")
        kind, position = token.lastgroup, token.end()
        if in_class:
            in_class = kind != "close"
            if kind in ("any", "none", "open"):
                # Within a class the opening bracket means itself, and what follows it is read again.
                position = token.start() + 1
            written.append(_in_class(token, kind))
            continue
        if kind == "repeat" and repeated:
            raise re.error("nothing to repeat")
        if kind == "foreign":
            raise re.error("an unknown kind of group")
        in_class, repeated = kind == "open", kind == "repeat"
        written.append(_outside(token, kind))
    return "".join(written)


def _outside(token: re.Match[str], kind: str | None) -> str:
    match kind:
        case "any":
            return r"[\s\S]"
        case "none":
            return "(?!)"
        case "named":
            return f"(?P={token['name']})"
        case "label":
            return "(?P<"
        case "end":
            return r"\Z"
        case "brace" | "close":
            return "\\" + token[0]
        case _:
            return _anywhere(token, kind)


def _in_class(token: re.Match[str], kind: str | None) -> str:
    if kind in ("any", "none", "open"):
        return "\\["
    if kind == "named":
        return re.escape(token[0][1:])
    return "\\" + token[0] if token[0] in "&|~" else _anywhere(token, kind)


def _anywhere(token: re.Match[str], kind: str | None) -> str:
    match kind:
        case "control":
            return re.escape(chr(ord(token[0][-1]) % 32))
        case "literal":
            return token[0][1]
        case "null":
            return r"\x00"
        case _:
            return token[0]
