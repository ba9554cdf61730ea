"""Commands that compute: whether they work on numbers alone, or may run what a variable holds."""

import re

from bridle.permissions.shell.line_context import LineContext
from bridle.permissions.shell.syntax.simple_command import Simple
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.arithmetic import computed_names
from bridle.permissions.shell.values.command_outputs import printed
from bridle.permissions.shell.values.expressions import evaluated
from bridle.permissions.shell.values.variable_values import begun

_NUMBERS_ONLY = re.compile(r"\(\([\d\s+*/%()<>=!&|^~?:;-]*\)\)")
_OPERAND = re.compile(
    r"""-?\d+|("?)(?:(\$\([^()]*\))|\$[?#]|\$\{#[A-Za-z_]\w*\}|\$(\w+)|\$\{(\w+)\})\1""", re.ASCII
)
_COMPARES_NUMBERS = re.compile(r"-(?:eq|ne|lt|le|gt|ge)")
COMPUTES = re.compile(r"(?<![\w-])-(?:eq|ne|lt|le|gt|ge|v|R)(?![\w-])")


def may_run(simple: Simple, words: tuple[Word, ...], scene: LineContext) -> str | None:
    """What in a command may run code that a variable holds; no rule with a star was meant for that."""
    if simple.kind == "arithmetic":
        return None if counts(simple, scene) else f"it is unclear what {simple.text} runs"
    if simple.kind == "condition":
        return f"it is unclear what {simple.text} runs" if compares_numbers(simple, scene) else None
    for each in simple.evaluates:
        names = computed_names(each)
        if names is None or not scene.values.counts(names, simple):
            return f"it is unclear what expanding {each} runs"
    argument = evaluated(words)
    return None if argument is None else f"it is unclear what {argument} runs"


def counts(simple: Simple, scene: LineContext) -> bool:
    """Whether arithmetic works on numbers alone."""
    if _NUMBERS_ONLY.fullmatch(simple.text):
        return True
    names = computed_names(simple.text)
    return names is not None and scene.values.counts(names - begun(simple), simple)


def compares_numbers(simple: Simple, scene: LineContext) -> bool:
    """Whether a condition computes with anything but plain numbers."""
    operands = simple.operands
    for index, word in enumerate(operands):
        if not COMPUTES.search(word.raw):
            continue
        around = operands[max(0, index - 1) : index + 2 : 2]
        if not _COMPARES_NUMBERS.fullmatch(word.raw) or len(around) < 2:
            return True
        if not all(_is_number(each, simple, scene) for each in around):
            return True
    return False


def _is_number(word: Word, simple: Simple, scene: LineContext) -> bool:
    """Whether a word comes to nothing but a number, however it is filled in."""
    found = _OPERAND.fullmatch(word.raw)
    if found is None:
        return False
    names = [name for name in found.groups()[1:] if name]
    return scene.values.counts(
        [name for name in names if not name.startswith("$(") or printed(name) != "numbers"], simple
    )
