"""The known name that a wrong one was probably meant to be."""

from collections.abc import Iterable, Sequence

_LEAST_ALIKE = 0.7
_UNFINISHED = 0.8
_SHORTEST_BEGINNING = 2
_SHORTEST_SLIP = 4


def nearest(word: str, known: Iterable[str], *, most: int = 1) -> list[str]:
    """The known names that are much like `word`, best first; whether letters are capital does not matter."""
    # Only a wrong name needs it.
    from difflib import SequenceMatcher

    wanted = word.lower()
    matcher = SequenceMatcher(b=wanted)
    scored: list[tuple[float, int, str]] = []
    for number, name in enumerate(dict.fromkeys(known)):
        other = name.lower()
        matcher.set_seq1(other)
        alike = matcher.ratio() if matcher.real_quick_ratio() >= _LEAST_ALIKE else 0.0
        if _begins(wanted, other):
            alike = max(alike, _UNFINISHED)
        elif _is_swapped(wanted, other):
            alike = max(alike, _LEAST_ALIKE)
        if alike >= _LEAST_ALIKE:
            scored.append((-alike, number, name))
    return [name for _, _, name in sorted(scored)[:most]]


def did_you_mean(word: str, known: Iterable[str], *, prefix: str = "", most: int = 1) -> str:
    """`: did you mean X?`, for the end of a sentence about a wrong name; nothing where no name is like it."""
    return question([f"{prefix}{name}" for name in nearest(word, known, most=most)])


def question(names: Sequence[str]) -> str:
    """The question itself."""
    return f": did you mean {' or '.join(names)}?" if names else ""


def is_slip(word: str, name: str) -> bool:
    """Whether a word is a name with one letter too many, too few, wrong or swapped, or in other capitals."""
    one, other = sorted((word.lower(), name.lower()), key=len)
    if len(other) < _SHORTEST_SLIP or len(other) - len(one) > 1:
        return False
    if one == other or _is_swapped(one, other):
        return True
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    return one[at + (len(one) == len(other)) :] == other[at + 1 :]


def _is_swapped(one: str, other: str) -> bool:
    """Whether two neighboring letters changed places."""
    places = [place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    return (
        len(one) == len(other)
        and len(places) == 2
        and places[1] == places[0] + 1
        and one[places[0]] == other[places[1]]
        and one[places[1]] == other[places[0]]
    )


def _begins(wanted: str, other: str) -> bool:
    """Whether a name was left unfinished."""
    return len(wanted.lstrip("-")) >= _SHORTEST_BEGINNING and other.startswith(wanted)
