"""The origin of a prompt: who or what put it into a session."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct

from bridle.types.text import printable

Source = Literal[
    "typed", "argument", "host", "remote", "file", "hook", "schedule", "letter", "channel", "agent", "tool",
    "workflow", "job", "program",
]  # fmt: skip
"""The ways in.

- `typed`: at the keyboard of this machine.
- `argument`: on the user's own command line, as an argument or on standard input.
- `host`: from the program that drives the session over standard streams or as a library.
- `remote`: from a person who reaches the session with a browser.
- `file`: from a file, such as the first prompt of an agent definition.
- `hook`, `schedule`, `agent`, `tool`, `workflow`: from one of those.
- `letter`: from another session or a teammate.
- `channel`: from an MCP server that may send messages.
- `job`: from work in the background that has ended or has news.
- `program`: from bridle itself.
"""

_SOURCES: Mapping[str, Source] = {name: name for name in get_args(Source)}
_LONGEST_NAME = 80
_OWN = frozenset({"typed", "argument", "host"})
_PEOPLE = _OWN | {"remote"}
_KINDS: Mapping[str, str] = {
    "typed": "human",
    "argument": "human",
    "remote": "human",
    "schedule": "task-notification",
    "job": "task-notification",
    "letter": "peer",
}
"""The words that other readers of transcripts know; all else is called by its source."""
_SOURCE_OF_KIND: Mapping[str, Source] = {
    "human": "typed",
    "task-notification": "job",
    "peer": "letter",
    "channel": "channel",
    "hook": "hook",
}
_DETAILS: Mapping[str, str] = {"schedule": "schedule", "letter": "from", "channel": "server"}
_ON_RESULTS = frozenset({"remote", "schedule", "job", "letter", "channel", "hook"})


class Origin(Struct, frozen=True, kw_only=True):
    """Stays with a prompt from where it enters to where it is recorded and reviewed."""

    source: Source
    who: str = ""
    """Which one: the id of a schedule, a sender, the name of a client, a hook event, a file."""
    stamped: bool = False
    """The host says that a person typed it."""
    words: tuple[int, int] | None = None
    """Which characters of the prompt are its sender's own, where a file or a pipe put others around them."""

    @property
    def is_own(self) -> bool:
        """Whether the user of this machine says it, or the program that the user runs the session with."""
        return self.source in _OWN

    @property
    def is_person(self) -> bool:
        """Whether the user says it, or a person elsewhere to whom the user has given access."""
        return self.source in _PEOPLE

    @property
    def is_typed(self) -> bool:
        """Whether the words are known to be the user's: typed here, on the command line, or stamped so."""
        return self.source in ("typed", "argument") or (self.source == "host" and self.stamped)

    @property
    def at_start(self) -> "Origin":
        """Where the first words of the prompt come from, which is where a command stands."""
        return Origin(source="file") if self.words is not None and self.words[0] > 0 else self

    def own_words(self, text: str) -> str:
        """The part of a prompt that its sender said."""
        return text if self.words is None else text[self.words[0] : self.words[1]]

    def on_result(self) -> Mapping[str, Any] | None:
        """What the result of the turn says; None where it says nothing."""
        if self.source == "host" and self.stamped:
            return {"kind": "human"}
        return _named(self) if self.source in _ON_RESULTS else None

    def to_entry(self) -> dict[str, Any]:
        """The origin as a line of a transcript keeps it."""
        kept = {**_named(self), "source": self.source}
        if self.who and self.source not in _DETAILS:
            kept["from"] = self.who
        if self.words is not None:
            kept["words"] = list(self.words)
        return kept

    @classmethod
    def from_entry(cls, value: object) -> "Origin | None":
        """What a line of a transcript says, also one of another release; None when it says nothing known."""
        if not isinstance(value, Mapping):
            return None
        kind, said = value.get("kind"), value.get("source")
        source = _SOURCES.get(said) if isinstance(said, str) else _SOURCE_OF_KIND.get(str(kind))
        if source is None:
            return None
        who = value.get(_DETAILS.get(source, "from"))
        return cls(
            source=source,
            who=who if isinstance(who, str) else "",
            stamped=source == "host" and kind == "human",
            words=_span(value.get("words")),
        )


TYPED = Origin(source="typed")
PROGRAM = Origin(source="program")
AGENT = Origin(source="agent")
HOOK = Origin(source="hook")
JOB = Origin(source="job")


_NAMED: Mapping[str, str] = {
    "typed": "the user",
    "argument": "the command line",
    "host": "the host program",
    "remote": "a remote client",
    "file": "a file",
    "hook": "a hook",
    "schedule": "a schedule",
    "letter": "a message",
    "channel": "a channel",
    "agent": "an agent",
    "tool": "a tool",
    "workflow": "a workflow",
    "job": "a background job",
    "program": "bridle",
}


def sender_named(origin: Origin) -> str:
    """An origin in a sentence."""
    who = printable(origin.who)[:_LONGEST_NAME]
    return _NAMED[origin.source] + (f" ({who})" if who else "")


def _span(value: object) -> tuple[int, int] | None:
    match value:
        case [int() as start, int() as end]:
            return max(0, start), max(0, end)
        case None:
            return None
        case _:
            return 0, 0


def _named(origin: Origin) -> dict[str, Any]:
    kind = "human" if origin.source == "host" and origin.stamped else _KINDS.get(origin.source, origin.source)
    detail = _DETAILS.get(origin.source)
    return {"kind": kind, detail: origin.who} if detail is not None and origin.who else {"kind": kind}
