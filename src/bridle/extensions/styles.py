"""Output styles: ways to answer that join the system prompt."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from bridle.config.problems import Problem
from bridle.extensions.frontmatter import text_of, truth
from bridle.extensions.index import Index
from bridle.extensions.roots import Root

DEFAULT = "default"


class OutputStyle(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    read: Callable[[], str]
    """The text for the model. Raises OSError."""
    source: str = "builtin"
    file: str = ""
    keeps_coding: bool = True
    """The usual advice on how to work on code stays beside it."""
    forced: bool = False
    """A plugin wants it whatever the user chose."""


def load_styles(index: Index, roots: Sequence[Root]) -> Mapping[str, OutputStyle]:
    """Every style by its name in small letters; files come before built-in styles of the same name."""
    styles: dict[str, OutputStyle] = {}
    for found in index.look(roots):
        values, root = found.entry.values, found.root
        stem = found.path.rpartition("/")[2].removesuffix(".md")
        name = " ".join((text_of(values.get("name")) or stem).split())
        full = f"{root.prefix}:{name}" if root.prefix else name
        style = OutputStyle(
            name=full,
            description=text_of(values.get("description")) or found.entry.opening or "Output style",
            read=found.read_body,
            source=root.source,
            file=found.path,
            keeps_coding=truth(values.get("keep-coding-instructions")) is True,
            forced=root.source == "plugin" and truth(values.get("force-for-plugin")) is True,
        )
        styles.setdefault(full.lower(), style)
    for style in BUILT_IN:
        styles.setdefault(style.name.lower(), style)
    return styles


def style_problems(index: Index, roots: Sequence[Root]) -> list[Problem]:
    """What is wrong with the files of styles."""
    return [problem for found in index.look(roots) if (problem := found.problem) is not None]


def choose_style(styles: Mapping[str, OutputStyle], wanted: str | None) -> OutputStyle | None:
    """The style that counts: one that a plugin forces, else the one asked for; None for the usual manner."""
    forced = next((style for style in styles.values() if style.forced), None)
    if forced is not None:
        return forced
    found = styles.get((wanted or DEFAULT).lower())
    return None if found is None or found.name == DEFAULT else found


def _built_in(name: str, description: str, text: str) -> OutputStyle:
    return OutputStyle(name=name, description=description, read=lambda: text)


_PROACTIVE = """\
Work without waiting. Take reasonable assumptions instead of asking, note each one in a line, and continue. \
Do the obvious next steps that the task implies: run the tests, fix what they show, update the \
documents that your change made wrong. Ask only before what cannot be undone or what the user clearly \
has to decide. When you are done, say what you did, what you assumed and what is left."""

_CONCISE = """\
Answer in as few words as possible. Lead with the result. No preamble, no summary of what was \
asked, no list where a sentence is enough. Show code instead of describing it. For finished work one or two \
sentences are enough; give details when asked."""

_EXPLANATORY = """\
Teach while you work. Before or after a change that is worth understanding, add a short note that begins \
with "Insight:" and gives two or three points about this code base: why the code is built this way, \
which pattern or trade-off applies, what would go wrong otherwise. Speak about the code at hand and \
not about programming in general. The notes belong in the conversation and never in the files."""

_LEARNING = """\
Help the user learn by doing. Do the routine work yourself, but leave them one meaningful piece of five \
to ten lines where a decision is to be made: business logic, error handling, an algorithm, a data \
structure. Prepare the place: write everything around it, put a TODO(human) comment at the spot, make \
sure that there is exactly one, and then ask: say what is there, what the piece has to do, and which \
trade-offs to think about. Wait for their code. When it comes, say in a sentence what it shows, and go \
on. Between such pieces, add short notes that begin with "Insight:" about why the code is as it is."""

BUILT_IN = (
    _built_in(DEFAULT, "Do the work and report briefly", ""),
    _built_in("Proactive", "Assume and act instead of asking", _PROACTIVE),
    _built_in("Concise", "As few words as possible", _CONCISE),
    _built_in("Explanatory", "Explain choices and patterns along the way", _EXPLANATORY),
    _built_in("Learning", "Leave parts of the code to you, and explain", _LEARNING),
)
