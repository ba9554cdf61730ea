"""What language servers know about code."""

from collections.abc import Callable
from typing import Literal, Protocol

from msgspec import Struct

from bridle.types.services.service import Service

Operation = Literal[
    "goToDefinition", "findReferences", "hover", "documentSymbol", "workspaceSymbol", "goToImplementation",
    "prepareCallHierarchy", "incomingCalls", "outgoingCalls",
]  # fmt: skip


class Inquiry(Struct, frozen=True, kw_only=True):
    """A question about a place in a file; lines and columns count from one."""

    operation: Operation
    path: str
    line: int
    character: int
    query: str = ""


class Finding(Struct, frozen=True, kw_only=True):
    """The answer in words, and how much there was."""

    text: str
    results: int
    files: int


class Languages(Protocol):
    """The language servers of one session."""

    async def ask(self, inquiry: Inquiry, *, hides: Callable[[str], bool]) -> Finding:
        """What the server for the file answers, without what lies in hidden files.

        Raises:
            ToolError: there is no server for it, or the server cannot answer.
        """
        ...


LANGUAGES: Service[Languages] = Service(
    "languages", missing="No language server is set up here: use Grep and Read."
)
