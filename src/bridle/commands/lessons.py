"""Short lessons about what people overlook."""

from bridle.commands.context import CommandContext
from bridle.types.command import CommandResult, Says
from bridle.types.errors import UsageError

_LESSONS: tuple[tuple[str, str], ...] = (
    (
        "Mention files",
        "Write @src/app.py or @src/app.py#L10-40 in a prompt: the model reads those lines right away.",
    ),
    ("Plan first", "shift+tab or /plan makes the model propose a plan before it changes anything."),
    (
        "Go back",
        "/rewind restores files and conversation to an earlier prompt; /branch continues in a copy.",
    ),
    ("Keep rules", "/pin keeps a sentence through compactions; CLAUDE.md keeps it for every session."),
    (
        "Fewer questions",
        '/permissions allow "Bash(npm test)" local allows that command in this project.',
    ),
    (
        "Check your context",
        "/context shows what fills the context window; /compact <focus> keeps what the next step needs.",
    ),
    ("Side questions", "/btw asks a question without adding it to the conversation."),
    ("Work until done", "/goal all tests pass keeps the model working until the condition is met."),
    ("In scripts", "bridle -p 'prompt' --output-format json prints one line of JSON for programs."),
    ("Find the reason", "bridle config explain KEY and bridle policy explain name the file that decided."),
)


async def teach(arguments: str, context: CommandContext) -> CommandResult:
    del context
    if not arguments:
        listed = [f"{number}. {title}" for number, (title, _) in enumerate(_LESSONS, 1)]
        return Says("\n".join([*listed, "/powerup <number> shows a lesson."]))
    if not arguments.isdecimal() or not 1 <= int(arguments) <= len(_LESSONS):
        raise UsageError(f"Choose a lesson from 1 to {len(_LESSONS)}.")
    title, text = _LESSONS[int(arguments) - 1]
    return Says(f"{title}: {text}")
