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
    deferred: bool = False
    """Rarely used: told to the model by name alone, where tools can be searched for."""


CATALOG: tuple[Listing, ...] = (
    Listing("Agent", "bridle.tools.agent", aliases=("Task",)),
    Listing("AskUserQuestion", "bridle.tools.ask_user_question", needs_person=True),
    Listing("Bash", "bridle.tools.bash"),
    Listing("Edit", "bridle.tools.edit"),
    Listing("EnterPlanMode", "bridle.tools.enter_plan_mode", needs_person=True),
    Listing("EnterWorktree", "bridle.tools.enter_worktree", deferred=True),
    Listing("ExitPlanMode", "bridle.tools.exit_plan_mode", needs_person=True),
    Listing("ExitWorktree", "bridle.tools.exit_worktree", deferred=True),
    Listing("Glob", "bridle.tools.glob"),
    Listing("Grep", "bridle.tools.grep"),
    Listing("NotebookEdit", "bridle.tools.notebook_edit", deferred=True),
    Listing("Read", "bridle.tools.read"),
    Listing("Skill", "bridle.tools.skill", aliases=("SlashCommand",)),
    Listing("TaskCreate", "bridle.tools.task_create"),
    Listing("TaskGet", "bridle.tools.task_get"),
    Listing("TaskList", "bridle.tools.task_list"),
    Listing(
        "TaskOutput", "bridle.tools.task_output", aliases=("BashOutput", "BashOutputTool", "AgentOutputTool")
    ),
    Listing("TaskStop", "bridle.tools.task_stop", aliases=("KillShell", "KillBash")),
    Listing("TaskUpdate", "bridle.tools.task_update"),
    Listing("TodoWrite", "bridle.tools.todo_write"),
    Listing("WebFetch", "bridle.tools.web_fetch", deferred=True),
    Listing("WebSearch", "bridle.tools.web_search", deferred=True),
    Listing("Write", "bridle.tools.write"),
)
