"""The list of skills that a model is given, within a bound."""

from collections.abc import Mapping, Sequence

from bridle.extensions.frontmatter import summary_of
from bridle.extensions.skills import Skill

_HEADING = """\
# Skills
Before you begin, load the skill that fits the task with the Skill tool."""
_CHARACTERS_PER_TOKEN = 4
_LONGEST_NAME = 100


def list_skills(
    skills: Sequence[Skill],
    *,
    budget: int,
    longest: int = 1_536,
    scores: Mapping[str, float] | None = None,
    bare: frozenset[str] = frozenset(),
) -> str | None:
    """Names with descriptions in at most `budget` characters; None for no skills."""
    if not skills:
        return None
    lines = lines_within(skills, budget=budget, longest=longest, scores=scores, bare=bare)
    cut = len(skills) - len(lines)
    rest = [f"… and {cut} more, rarely used; the user can list them with /skills."] if cut else []
    return "\n".join((_HEADING, *lines.values(), *rest))


def lines_within(
    skills: Sequence[Skill],
    *,
    budget: int,
    longest: int = 1_536,
    scores: Mapping[str, float] | None = None,
    bare: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """The lines of a list by the names of the skills.

    Those used least lose their descriptions first, then their place. Bundled ones keep both. Those in
    `bare` are listed without a description from the beginning.
    """
    names = [_name_of(each) for each in skills]
    # Where the names alone are too much nothing else is put together, and hundreds of skills cost little.
    crowded = len(_HEADING) + sum(map(len, names)) + len(names) > budget
    lines = {
        each.name: name
        if each.name in bare or (crowded and each.source != "bundled")
        else line_of(each, longest)
        for each, name in zip(skills, names, strict=True)
    }
    size = len(_HEADING) + sum(map(len, lines.values())) + len(lines)
    if size > budget and not crowded:
        size = _drop_descriptions(lines, skills, size, budget, scores or {})
    if size > budget:
        _drop_names(lines, skills, size, budget, scores or {})
    return lines


def line_of(skill: Skill, longest: int = 1_536, *, bare: bool = False) -> str:
    """How a skill stands in the list."""
    name = _name_of(skill)
    if bare:
        return name
    words = skill.summary or summary_of(skill.values, skill.opening)
    return f"{name}: {words if len(words) <= longest else words[: longest - 1] + '…'}"


def _name_of(skill: Skill) -> str:
    return f"- {skill.name[:_LONGEST_NAME]}"


def cost_of(skill: Skill, *, bare: bool = False) -> int:
    """About how many tokens the mention of a skill costs in every request."""
    return tokens_of(line_of(skill, bare=bare))


def tokens_of(line: str) -> int:
    """About how many tokens a line of the list is."""
    return -(-len(line) // _CHARACTERS_PER_TOKEN)


def budget_of(window: int, fraction: float | None = None) -> int:
    """How many characters the list may take of a window of so many tokens."""
    return int(window * _CHARACTERS_PER_TOKEN * (0.01 if fraction is None else fraction))


def _drop_descriptions(
    lines: dict[str, str], skills: Sequence[Skill], size: int, budget: int, scores: Mapping[str, float]
) -> int:
    for skill in _least_used(skills, scores):
        if size <= budget:
            break
        name = _name_of(skill)
        size -= len(lines[skill.name]) - len(name)
        lines[skill.name] = name
    return size


def _drop_names(
    lines: dict[str, str], skills: Sequence[Skill], size: int, budget: int, scores: Mapping[str, float]
) -> None:
    for skill in _least_used(skills, scores):
        if size <= budget - 100:
            break
        size -= len(lines.pop(skill.name)) + 1


def _least_used(skills: Sequence[Skill], scores: Mapping[str, float]) -> list[Skill]:
    """Those that may be shortened, the least used first, of equal ones the last listed."""
    cuttable = [skill for skill in reversed(skills) if skill.source != "bundled"]
    return sorted(cuttable, key=lambda skill: scores.get(skill.name, 0.0)) if scores else cuttable
