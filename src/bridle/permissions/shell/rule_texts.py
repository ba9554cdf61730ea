"""The texts that rules are held against for one simple command."""

from bridle.permissions.shell.programs.wrappers import MOST, behind
from bridle.permissions.shell.syntax.simple_command import Simple
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.variables import is_harmless_as


def allow_forms(simple: Simple) -> tuple[str, ...]:
    """What an allow rule may match: as written, then without harmless assignments and wrappers."""
    words = simple.words
    if not words:
        return (simple.text,)
    if _name_unknown(words[0]):
        return ()
    text, leads = _text(words), _leads(simple)
    forms = [simple.text, " ".join([*(each.raw for each in simple.assignments), text]) if leads else text]
    if not leads or all(_harmless(each.name, each.value) for each in simple.assignments):
        forms.append(text)
        for _ in range(MOST):
            if (inner := behind(words)) is None:
                break
            words = inner
            if _name_unknown(words[0]):
                return ()
            forms.append(_text(words))
    return tuple(dict.fromkeys(forms))


def _leads(simple: Simple) -> bool:
    return simple.kind == "command" and bool(simple.assignments)


def _harmless(name: str, value: Word) -> bool:
    return is_harmless_as(name, value.value, literal=value.literal) and value.inert


def _name_unknown(word: Word) -> bool:
    return not word.literal


def _text(words: tuple[Word, ...]) -> str:
    return " ".join([word.raw for word in words])
