"""The built-in tools. Each is imported when first called, so start-up does not grow with this list."""

from msgspec import Struct


class Listing(Struct, frozen=True):
    name: str
    module: str
    """Where it is defined; the module's `TOOL` is the tool."""
    aliases: tuple[str, ...] = ()
    """Names that older transcripts, rules and models use for it."""
    needs_person: bool = False
    """Only offered when somebody can answer."""


CATALOG: tuple[Listing, ...] = (
    Listing("AskUserQuestion", "bridle.tools.ask_user_question", needs_person=True),
    Listing("Bash", "bridle.tools.bash"),
    Listing("Edit", "bridle.tools.edit"),
    Listing("Glob", "bridle.tools.glob"),
    Listing("Grep", "bridle.tools.grep"),
    Listing("NotebookEdit", "bridle.tools.notebook_edit"),
    Listing("Read", "bridle.tools.read"),
    Listing(
        "TaskOutput", "bridle.tools.task_output", aliases=("BashOutput", "BashOutputTool", "AgentOutputTool")
    ),
    Listing("TaskStop", "bridle.tools.task_stop", aliases=("KillShell", "KillBash")),
    Listing("TodoWrite", "bridle.tools.todo_write"),
    Listing("WebFetch", "bridle.tools.web_fetch"),
    Listing("WebSearch", "bridle.tools.web_search"),
    Listing("Write", "bridle.tools.write"),
)
