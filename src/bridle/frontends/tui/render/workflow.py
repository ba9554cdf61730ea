"""The description that a workflow script gives of itself."""

from functools import lru_cache
from typing import TYPE_CHECKING

from bridle.types.errors import ConfigError

if TYPE_CHECKING:
    from bridle.extensions.workflows import WorkflowMeta


@lru_cache(maxsize=16)
def meta_of(script: str) -> "WorkflowMeta | None":
    """Its name, description and phases; None where it says nothing that can be read."""
    # A start shows no call of a workflow.
    from bridle.extensions.workflows import read_meta

    try:
        return read_meta(script)
    except ConfigError:
        return None
