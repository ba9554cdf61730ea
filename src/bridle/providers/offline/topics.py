"""What the planner can say about bridle and about itself."""

import re

from msgspec import Struct

from bridle.providers.offline.conversation import LABEL, Conversation

REAL_MODEL = (
    "For a real model, set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) and start bridle without `--model "
    "offline`; set ANTHROPIC_BASE_URL for any other server with the Messages API."
)
ABILITIES = """\
I can
- list, read and search files: "list the python files", "show README.md", "search for TODO in src";
- run the tests and list the failures: "run the tests";
- run an exact command: "run `git status`";
- try mechanical repairs on a small Python project: "fix the failing tests";
- answer short questions about bridle: keys, tools, permissions, resuming, output formats."""

_SELF = (
    f"I am {LABEL}: a small set of fixed rules built into bridle. I need no key and no network. I "
    "understand simple requests, and the only code I write is small mechanical repairs."
)
_KEY = f"{REAL_MODEL} Set a key in the environment: `export ANTHROPIC_API_KEY=…`, then run `bridle` again."
_PERMISSIONS = (
    "Reading and searching in the working folder needs no permission; edits and commands need your "
    "approval. `--permission-mode acceptEdits` allows edits, `--allowedTools "
    '"Bash(python3 -B -m pytest:*)"` allows a command, `--disallowedTools` denies, and '
    "`permissions.allow`, `ask` and `deny` in .claude/settings.json apply to every session."
    " Deny beats ask, ask beats allow."
)
_RESUME = (
    "`bridle -c` continues the latest conversation of this folder, `bridle -r <session id>` a specific "
    "one. Add `-p` to continue without the interactive terminal."
)
_FORMATS = (
    "With `-p`, `--output-format text` prints the answer (the default), `json` one result object, and "
    "`stream-json` one message per line as it arrives. `--input-format stream-json` reads messages in "
    "the same format."
)
_INSTRUCTIONS = (
    "bridle reads CLAUDE.md (or AGENTS.md) from the folder, its parents and ~/.claude, and gives it to "
    "the model. The offline planner does not follow these instructions."
)
_SESSIONS = (
    "Each session is a file of JSON lines under ~/.claude/projects, in a folder named after the working "
    "directory; CLAUDE_CONFIG_DIR moves ~/.claude elsewhere."
)
_PRIVACY = (
    "The offline planner uses no network. With a real model, your prompts and what the tools read go to "
    "the service you configured. bridle sends no telemetry unless you configure a collector."
)
_COST = "The offline planner costs nothing; the token counts shown for it are estimates from the text length."
_LONGEST_QUESTION = 300
_QUESTION = (
    r"^(/?help|hi|hello|hey|good|how|what|what's|which|who|where|can|could|do|does|is|are|may|will|tell|explain"
    r"|introduce|list (the |all |your )*tools|i (need|want|have))\b"
)
_ABOUT_CODE = r"\b(defined|declared|implemented|used|called|imported|mentioned|files?|folder|directory)\b"


class Topic(Struct, frozen=True):
    asked: str
    """A pattern for prompts on this topic."""
    answer: str


TOPICS = (
    Topic(
        r"^(hi|hello|hey|good (morning|day|evening)|help|/help)\b[\w ,]{0,20}[.!?]*$",
        f"{_SELF}\n\n{ABILITIES}",
    ),
    Topic(r"what (can|could|do) (you|bridle|i) do|capabilit|how (do|can) i use (you|bridle|this)", ABILITIES),
    Topic(
        r"(who|what) are you|what('s| is) (bridle|the offline|this tool)|are you (an?|the|real|claude|gpt)\b"
        r"|introduce yourself|(which|what) (\w+ )?model|how do you work",
        f"{_SELF} {REAL_MODEL}",
    ),
    Topic(
        r"\b(api[ _-]?key|anthropic_\w+|credentials?|log ?in|sign in|authenticat\w+|(real|other|another)"
        r" model)\b|\b(set|use|add|need|enter)\b.* (key|token)\b",
        _KEY,
    ),
    Topic(r"permission|allowed-?tools|acceptedits|(always|never) (ask|allow)|stop asking", _PERMISSIONS),
    Topic(
        r"(where|how) (are|is|do|does|can)\b.*\b(sessions?|transcripts?) .*(stored|kept|saved|live)",
        _SESSIONS,
    ),
    Topic(r"\b(resum\w+|(continue|previous|last|earlier) (\w+ )?(session|conversation|chat))\b", _RESUME),
    Topic(r"output[- ]?formats?|stream-json|\bjson\b.*\boutput|\boutput\b.*\bjson\b", _FORMATS),
    Topic(r"\b(how|what)\b.*\b(do|does|are)\b.*\b(claude\.md|agents\.md|instruction files?)", _INSTRUCTIONS),
    Topic(
        r"telemetry|privacy|phone home|(send|upload)\w* (my|the|any) (code|data|files)|network access",
        _PRIVACY,
    ),
    Topic(
        r"\b(cost|price|free|charge)\b.*\b(you|bridle|offline|this)\b|\b(you|bridle|offline)\b.*\bfree\b",
        _COST,
    ),
)


def topic_answer(conversation: Conversation) -> str | None:
    """A short true answer when the prompt is about bridle, otherwise None."""
    prompt = conversation.prompt.lower()
    if len(prompt) > _LONGEST_QUESTION or not re.search(_QUESTION, prompt) or re.search(_ABOUT_CODE, prompt):
        return None
    if re.search(r"\btools\b", prompt):
        return _tools(conversation)
    return next((topic.answer for topic in TOPICS if re.search(topic.asked, prompt)), None)


def honest_refusal(conversation: Conversation) -> str:
    """What to say to a request that no rule covers."""
    opening = (
        "I cannot do that: it needs a language model." if conversation.prompt else "The prompt is empty."
    )
    return f"{opening} I am {LABEL}. {ABILITIES}\n\n{REAL_MODEL}"


def digest(conversation: Conversation) -> str:
    """What was asked and done so far, drawn from the calls that were made."""
    calls = [call for each in (*conversation.earlier, *conversation.rounds) for call in each.calls]
    parts = [("Asked", [prompt[:120] for prompt in conversation.prompts[:-1]])]
    for title, name, key in (
        ("Read", "Read", "file_path"),
        ("Changed", "Edit", "file_path"),
        ("Wrote", "Write", "file_path"),
        ("Ran", "Bash", "command"),
    ):
        parts.append((title, [str(call.input.get(key, ""))[:120] for call in calls if call.name == name]))
    lines = [f"{title}: {'; '.join(dict.fromkeys(items[-10:]))}" for title, items in parts if items]
    return "\n".join(lines) if lines else "Nothing happened before this prompt."


def _tools(conversation: Conversation) -> str:
    if not conversation.tools:
        return "This session has no tools."
    names = ", ".join(conversation.tools[:40])
    return (
        f"This session has {len(conversation.tools)} tools: {names}. As the offline planner I use only "
        "Read, Edit, Glob, Grep and Bash; `--tools` limits the list."
    )
