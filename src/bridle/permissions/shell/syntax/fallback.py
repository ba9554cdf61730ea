"""What the grammar still finds in a command line that cannot be read with certainty."""

from typing import TYPE_CHECKING

from bridle.permissions.shell.syntax.command_words import squeezed
from bridle.permissions.shell.syntax.grammar_tree import descendants, expansion_ends
from bridle.permissions.shell.syntax.simple_command import Places, Redirection, Simple
from bridle.permissions.shell.syntax.words import Disagreement, Source, Word, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_MOST_WORDS = 600
_MOST_REDIRECTIONS = 200


def flat(root: "Node", text: str, *, home: str, places: Places) -> list[Simple]:
    """Every simple command and every redirection to a file that the grammar sees, each once."""
    nodes = list(descendants(root))
    source = Source(text, expansion_ends(nodes, text), home)
    simples: dict[str, Simple] = {}
    redirections: list[Redirection] = []
    for node in nodes:
        kind = node.type
        if kind == "file_redirect" and len(redirections) < _MOST_REDIRECTIONS:
            redirections.append(_redirection(node, source))
        if kind not in _COMMANDS:
            continue
        written = squeezed(source.written(node.start_byte, node.end_byte))
        if written and written not in simples:
            words = [_word(source, child) for child in node.children[:_MOST_WORDS] if child.is_named]
            kind = "command" if words else "redirection"
            simples[written] = Simple(text=written, words=tuple(words), places=places, kind=kind)
    if redirections:
        text = squeezed(redirections[0].raw)
        simples[""] = Simple(text=text, redirections=tuple(redirections), places=places, kind="redirection")
    return list(simples.values())


def _redirection(node: "Node", source: Source) -> Redirection:
    operator, target = "", None
    for child in node.children:
        if child.type == "file_descriptor":
            continue
        if child.is_named and not child.is_error:
            target = target or _word(source, child)
        else:
            operator += source.text[child.start_byte : child.end_byte]
    return Redirection(operator.strip(), target, source.written(node.start_byte, node.end_byte))


def _word(source: Source, node: "Node") -> Word:
    try:
        return read_word(source, node.start_byte, node.end_byte)
    except Disagreement as problem:
        raw = source.written(node.start_byte, node.end_byte)
        return Word(
            raw, "".join(letter for letter in raw if letter not in "'\"\\"), str(problem), inert=False
        )
