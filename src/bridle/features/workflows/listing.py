"""The list of saved workflows for the model when a conversation begins."""

from collections.abc import Mapping

from bridle.extensions.workflows import WorkflowFile
from bridle.types.text import one_line

_LONGEST_LINE = 250
_MOST_LISTED = 40
_SIZES = {"small": 5, "medium": 15, "large": 50}


def listing(files: Mapping[str, WorkflowFile], guideline: str | None) -> str | None:
    """The workflows by name with what they do; None for none."""
    if not files:
        return None
    lines = [f"- {name}: {_about(file)}" for name, file in list(files.items())[:_MOST_LISTED]]
    size = size_line(guideline)
    return "\n".join(("# Saved workflows (Workflow tool)", *lines, *((size,) if size else ())))


def size_line(guideline: str | None) -> str | None:
    """How many agents the user thinks right, as advice."""
    most = _SIZES.get(guideline or "")
    return (
        None
        if most is None
        else f"Unless the task needs more, use at most about {most} agents in a workflow."
    )


def _about(file: WorkflowFile) -> str:
    text = f"{file.description.strip().removesuffix('.')}. {file.when_to_use}"
    return one_line(" ".join(text.split()), _LONGEST_LINE)
