"""The system prompt: a part that is the same for every session, and a part about this one."""

from typing import Literal

from msgspec import Struct

from bridle.context.environment import Environment, describe_environment
from bridle.context.sections import FILE_TOOLS, SECTIONS, SHELL, Sections
from bridle.types.block import TextBlock, text_block
from bridle.types.text import one_line

Place = Literal["terminal", "print", "host"]
"""Where answers are read: as they come at a terminal, the last message alone, or by a host program."""


class Attribution(Struct, frozen=True):
    """What commits and pull requests are signed with; empty leaves the line out."""

    commit: str = "Co-Authored-By: bridle <noreply@bridle.invalid>"
    pull_request: str = "Made with bridle"


class PromptInputs(Struct, frozen=True, kw_only=True):
    """Everything that the system prompt depends on: equal inputs give equal bytes."""

    environment: Environment
    sections: Sections = SECTIONS
    tools: tuple[str, ...] = ()
    """Names of the tools that are offered."""
    person: bool = False
    """Whether anyone is there to answer a question."""
    place: Place = "host"
    custom: str | tuple[str | TextBlock, ...] | None = None
    """Takes the place of the whole default prompt; empty means no prompt."""
    append: str = ""
    minimal: bool = False
    language: str = ""
    style: str = ""
    """The body of the chosen output style."""
    coding: bool = True
    """False when the output style brings its own manner of work."""
    git_advice: bool = True
    attribution: Attribution = Attribution()
    facts_apart: bool = False
    """Leave out what differs between machines; it goes into the first user message."""

    @property
    def facts_in_message(self) -> bool:
        """Whether the first user message has to carry the facts, because this prompt does not."""
        return self.facts_apart or self.custom is not None


def build_system(inputs: PromptInputs) -> tuple[TextBlock, ...]:
    """The system prompt as text blocks, what changes least first; none when there is nothing to say."""
    if inputs.custom is not None:
        return _custom_blocks(inputs.custom, inputs.append)
    stable = inputs.sections.minimal if inputs.minimal else _stable_part(inputs)
    return tuple(text_block(part) for part in (stable, _session_part(inputs)) if part)


def _custom_blocks(custom: str | tuple[str | TextBlock, ...], append: str) -> tuple[TextBlock, ...]:
    given = (custom,) if isinstance(custom, str) else custom
    blocks = [text_block(each) if isinstance(each, str) else each for each in (*given, append)]
    # The API refuses empty text.
    return tuple(block for block in blocks if block["text"].strip())


def _stable_part(inputs: PromptInputs) -> str:
    words = inputs.sections
    sections = (
        words.identity,
        words.work if inputs.coding else "",
        words.truth,
        _tool_section(inputs.tools, words),
        words.care,
        words.git if inputs.git_advice and SHELL in inputs.tools else "",
        _tone(inputs.place, words),
        words.with_person if inputs.person else words.without_person,
    )
    return "\n\n".join(section for section in sections if section)


def _tone(place: Place, words: Sections) -> str:
    match place:
        case "terminal":
            return f"{words.tone}\n{words.watched}"
        case "print":
            return f"{words.tone}\n{words.printed}"
        case "host":
            return words.tone


def _tool_section(offered: tuple[str, ...], words: Sections) -> str:
    if not offered:
        return ""
    advice = (f"- {words.file_advice}",) if words.file_advice and FILE_TOOLS.issubset(offered) else ()
    return "\n".join((words.tools, *advice))


def _session_part(inputs: PromptInputs) -> str:
    sections = (
        f"# Output style\n{inputs.style.strip()}" if inputs.style.strip() else "",
        _language_section(inputs.language),
        _attribution_section(inputs),
        "" if inputs.facts_apart else f"# Environment\n{describe_environment(inputs.environment)}",
        inputs.append if inputs.append.strip() else "",
    )
    return "\n\n".join(section for section in sections if section)


def _language_section(language: str) -> str:
    if not language.strip():
        return ""
    return (
        f"# Language\nWrite to the user in {one_line(language.strip(), 100)}. Code, identifiers, commands "
        "and quotations stay as they are; comments and documents in files keep the project's language."
    )


def _attribution_section(inputs: PromptInputs) -> str:
    if not inputs.git_advice or inputs.minimal or SHELL not in inputs.tools:
        return ""
    lines: list[str] = []
    if commit := inputs.attribution.commit.strip():
        lines.append(f"End commit messages with a blank line and:\n{commit}")
    if pull_request := inputs.attribution.pull_request.strip():
        lines.append(f"End pull request texts with:\n{pull_request}")
    return "\n".join(("# Attribution", *lines)) if lines else ""
