"""Simple commands of a tree that is too large to follow."""

import re

from bridle.permissions.shell.pieces import Gathering
from bridle.permissions.shell.simple import Simple
from bridle.permissions.shell.tree import Tree, descendants

TAKES_REDIRECTS = frozenset({"command", "declaration_command", "unset_command", "test_command"})


def flat(tree: Tree) -> list[Simple]:
    """Every simple command of a tree too large to follow, in no known directory."""
    gathering = Gathering(tree.source)
    simples: dict[str, Simple] = {}
    for node in descendants(tree.root):
        if node.type in TAKES_REDIRECTS:
            text = squeezed(tree.source.written(node.start_byte, node.end_byte))
            if text not in simples:
                words = [gathering.word(child) for child in node.children if child.is_named]
                kind = "command" if words else "redirection"
                simples[text] = Simple(text=text, words=tuple(words), places=None, kind=kind)
    return list(simples.values())


def squeezed(text: str) -> str:
    """A command with runs of blanks made one."""
    return re.sub(r"(?:[ \t]|\\\n)+", " ", text).strip(" \t\n")
