"""Short lessons about what people overlook."""

from bridle.commands.context import CommandContext
from bridle.types.command import CommandResult, Says
from bridle.types.errors import UsageError

_LESSONS: tuple[tuple[str, str], ...] = (
    (
        "Mention files",
        "Write @src/app.py or @src/app.py#L10-40 in a prompt: the model gets the lines without a call.",
    ),
    ("Plan first", "Shift+tab or /plan lets the model look and propose before anything is changed."),
    (
        "Go back",
        "/rewind takes files and conversation back to a prompt; /branch tries another way in a copy.",
    ),
    ("Keep rules", "/pin keeps a sentence through every compaction; CLAUDE.md keeps it for every session."),
    (
        "Fewer questions",
        "/permissions allow Bash(npm test) local stops the question for that command in this project.",
    ),
    (
        "See the window",
        "/context shows what fills it; /compact with a focus keeps what you need for the next step.",
    ),
    ("Side questions", "/btw asks something without making it part of the conversation."),
    ("Work until done", "/goal all tests pass keeps the turn going until a check says that it holds."),
    ("In scripts", "bridle -p 'prompt' --output-format json gives one line that a program can read."),
    ("Why was that", "bridle config explain KEY and bridle policy explain tell which file decided."),
)


async def teach(arguments: str, context: CommandContext) -> CommandResult:
    del context
    if not arguments:
        listed = [f"{number}. {title}" for number, (title, _) in enumerate(_LESSONS, 1)]
        return Says("\n".join([*listed, "/powerup <number> shows a lesson."]))
    if not arguments.isdecimal() or not 1 <= int(arguments) <= len(_LESSONS):
        raise UsageError(f"There are lessons 1 to {len(_LESSONS)}.")
    title, text = _LESSONS[int(arguments) - 1]
    return Says(f"{title}: {text}")
