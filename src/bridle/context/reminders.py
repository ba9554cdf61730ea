"""Text that bridle puts beside what the user says and what tools return, marked as such."""

import re

from bridle.context.environment import Environment, describe_environment
from bridle.context.instruction_scope import InstructionFile, Kind
from bridle.context.sections import SECTIONS, Sections
from bridle.host.git.repository import GitSnapshot
from bridle.types.block import TextBlock, text_block
from bridle.types.text import one_line

_NAME = "system-reminder"
_TAG = rf"(?i)<(\s*/?\s*{_NAME})"

_SPEAKERS: dict[Kind, str] = {
    "Managed": "set by the administrator",
    "User": "the user's own, for every project",
    "Project": "the project's, shared by all who work on it",
    "Local": "the user's own, for this project",
}


def reminder(text: str) -> TextBlock:
    """A text block that says it comes from bridle; the text cannot end the marking early."""
    body = text.strip()
    if _NAME in body.lower():
        body = re.sub(_TAG, r"&lt;\1", body)
    return text_block(f"<system-reminder>\n{body}\n</system-reminder>")


def opening_reminders(
    *,
    files: tuple[InstructionFile, ...] = (),
    git: GitSnapshot | None = None,
    environment: Environment | None = None,
    sections: Sections = SECTIONS,
) -> tuple[TextBlock, ...]:
    """What stands before the first prompt of a session; equal inputs give equal bytes."""
    blocks: list[TextBlock] = []
    if environment is not None:
        blocks.append(reminder(f"# Environment\n{describe_environment(environment)}"))
    if files:
        blocks.append(reminder(f"{sections.instructions}\n\n{_listing(files)}"))
    if git is not None:
        blocks.append(reminder(f"{sections.git_status}\n{_describe(git)}"))
    return tuple(blocks)


def nested_reminder(files: tuple[InstructionFile, ...], sections: Sections = SECTIONS) -> TextBlock | None:
    """Instructions that a file brought in when it was read, to stand beside the tool's result."""
    if not files:
        return None
    return reminder(f"{sections.more_instructions}\n\n{_listing(files)}")


def _listing(files: tuple[InstructionFile, ...]) -> str:
    return "\n\n".join(f"{_heading(file)}\n\n{file.text}" for file in files)


def _heading(file: InstructionFile) -> str:
    origin = f"; imported by {one_line(file.parent)}" if file.parent else ""
    scope = f"; for {one_line(', '.join(file.globs), 200)}" if file.globs else ""
    return f"## {one_line(file.path)} ({file.kind}: {_SPEAKERS[file.kind]}{origin}{scope})"


def _describe(git: GitSnapshot) -> str:
    branch = "none checked out (detached HEAD)" if git.branch == "HEAD" else git.branch
    facts = [f"Branch: {branch or 'unknown'}"]
    if git.main_branch:
        facts.append(f"Main branch: {git.main_branch}")
    if git.user:
        facts.append(f"User: {git.user}")
    if git.status is not None:
        facts.append(f"Changes:\n{git.status}" if git.status else "Changes: none")
    if git.commits:
        facts.append("Last commits:\n" + "\n".join(git.commits))
    return "\n".join(facts)
