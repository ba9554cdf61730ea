"""Commands that write something down: the conversation, an answer, a report of what went wrong."""

import asyncio
import gc
import os
import platform
import resource
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from bridle.commands.context import CommandContext
from bridle.commands.usage import html_file
from bridle.commands.wording import counted
from bridle.host.files import make_folders, write_atomic, write_new
from bridle.host.paths import config_home
from bridle.transcripts.reader import load_before
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.entry import ConversationEntry
from bridle.types.errors import UsageError
from bridle.version import COMPATIBLE_WITH, __version__

_TEXTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "texts")
_WORKFLOW = os.path.join(".github", "workflows", "bridle.yml")

_RESULT_CHARS = 2_000
_LONGEST_TITLE = 100
_INPUT_CHARS = 500
_SECRET = ("key", "token", "secret", "password", "credential", "auth", "header", "env", "helper")
_MOST_TYPES = 40


async def export(arguments: str, context: CommandContext) -> CommandResult:
    text = conversation_text(context.session)
    if not text:
        return Says("Nothing to export yet.")
    if (page := html_file(arguments)) is not None:
        before, after = page
        return await _export_page(context, after or before)
    if not arguments:
        return Shows(view="export", text=text)
    path = context.workspace.resolve(arguments.strip("\"'"))
    path = path if os.path.splitext(path)[1] else f"{path}.txt"
    await _write(path, text)
    return Says(f"Wrote the conversation to {path}.")


async def github_workflow(arguments: str, context: CommandContext) -> CommandResult:
    """Write a workflow that runs bridle in GitHub Actions.

    Raises:
        UsageError: the folder is no repository, or the file cannot be written.
    """
    del arguments
    root = context.workspace.start
    if not os.path.exists(os.path.join(root, ".git")):
        raise UsageError("Not the root of a git repository. Start bridle there and run this again.")
    path = os.path.join(root, _WORKFLOW)
    with open(os.path.join(_TEXTS, "github_workflow.yml"), "rb") as file:
        text = file.read()
    try:
        make_folders(os.path.dirname(path), private=False)
        write_new(path, text, mode=0o644)
    except FileExistsError as error:
        raise UsageError(f"{_WORKFLOW} exists already. Delete or rename it to write a new one.") from error
    except OSError as error:
        raise UsageError(f"Could not write {_WORKFLOW}: {error.strerror}.") from error
    return Says(
        f"Wrote {_WORKFLOW}: bridle answers issues labeled bridle and comments that begin with /bridle.\n"
        "Next: gh secret set ANTHROPIC_API_KEY, then commit and push the file."
    )


async def _export_page(context: CommandContext, file: str) -> CommandResult:
    """Write the whole conversation as one page for a browser."""
    from bridle.commands.pages.conversation_page import Export, conversation_page

    session, transcript = context.session, context.runtime.records.transcript
    entries = await asyncio.to_thread(whole_conversation, session, transcript)
    export = Export(
        title=session.title or first_prompt(entries) or "Conversation",
        entries=entries,
        agents=None if transcript is None else os.path.join(transcript.removesuffix(".jsonl"), "subagents"),
        facts=(session.cwd, session.state.model, f"${session.total_cost_usd:.2f}"),
    )
    page = await asyncio.to_thread(conversation_page, export)
    path = context.workspace.resolve(file.strip("\"'") or f"conversation-{session.id[:8]}.html")
    path = path if os.path.splitext(path)[1] else f"{path}.html"
    await asyncio.to_thread(write_atomic, path, page.encode(errors="replace"), mode=0o600)
    return Says(f"Wrote the conversation to {path}")


def whole_conversation(session: Session, transcript: str | None) -> list[ConversationEntry]:
    """Everything that was said, also before compactions, as far as the transcript still has it."""
    entries = list(session.entries)
    seen: set[str] = set()
    while transcript is not None and entries:
        first = entries[0]
        leaf = first.get("logicalParentUuid") if first["type"] == "system" else None
        if leaf is None or leaf in seen:
            break
        seen.add(leaf)
        try:
            before = load_before(transcript, leaf)
        except OSError:
            break
        entries = [*before, *(entry for entry in entries if "copyOf" not in entry)]
    return entries


def first_prompt(entries: Iterable[ConversationEntry]) -> str:
    """The beginning of the first prompt; empty where there is none."""
    return next((text for text in map(_prompt, entries) if text), "")


def _prompt(entry: ConversationEntry) -> str:
    """The beginning of a prompt, empty for every other entry."""
    if entry["type"] != "user" or entry.get("isMeta") or "toolUseResult" in entry:
        return ""
    return " ".join(text_of(entry["message"]["content"]).split())[:_LONGEST_TITLE]


async def copy(arguments: str, context: CommandContext) -> CommandResult:
    """Copy the newest answer, or the one before (`2`), or write it to a file."""
    words = arguments.split(maxsplit=1)
    number = int(words.pop(0)) if words and words[0].isdecimal() else 1
    found = answers(context.session)
    if not 1 <= number <= len(found):
        raise UsageError(f"Invalid number: this conversation has {counted(len(found), 'answer')}.")
    text = found[number - 1]
    if words:
        path = context.workspace.resolve(words[0].removeprefix("w ").strip("\"'"))
        await _write(path, text)
        return Says(f"Wrote the answer to {path}.")
    return Shows(view="copy", arguments=str(number), text=text)


async def report(arguments: str, context: CommandContext) -> CommandResult:
    """Pack what helps to find a fault into a file on this machine; nothing is sent anywhere."""
    folder = os.path.join(config_home(context.env), "feedback-bundles")
    path = os.path.join(folder, f"{time.strftime('%Y%m%d-%H%M%S')}-{context.session.id[:8]}.json")
    make_folders(folder, private=True)
    data = msgspec.json.format(msgspec.json.encode(_bundle(arguments, context)), indent=2)
    await asyncio.to_thread(write_atomic, path, data, mode=0o600)
    return Says(f"Wrote the report to {path}. Nothing was sent: review it and send it yourself.")


async def heap(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    counts = Counter(type(each).__qualname__ for each in gc.get_objects())
    lines = [f"{count:>9,}  {name}" for name, count in counts.most_common(_MOST_TYPES)]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path = os.path.join(context.runtime.records.storage, "heap.txt")
    make_folders(os.path.dirname(path), private=True)
    await _write(path, "\n".join([f"most memory used: {most:,} KiB", *lines]))
    return Says(f"Wrote the memory report to {path}.")


def conversation_text(session: Session) -> str:
    """The conversation as plain text: prompts, answers, calls and the beginning of their results."""
    return "\n\n".join(_spoken(session))


def answers(session: Session) -> list[str]:
    """The texts of the model's answers, the newest first."""
    found: dict[str, str] = {}
    for entry in session.entries:
        if entry["type"] == "assistant" and not entry.get("isApiErrorMessage"):
            message = entry["message"]
            if text := text_of(message["content"]).strip():
                before = found.get(message["id"])
                found[message["id"]] = text if before is None else f"{before}\n\n{text}"
    return list(reversed(found.values()))


def _spoken(session: Session) -> Iterator[str]:
    for entry in session.entries:
        if entry["type"] == "system" or (entry["type"] == "user" and entry.get("isMeta")):
            continue
        content = entry["message"]["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            match block:
                case {"type": "text", "text": str() as text} if text.strip():
                    yield f"> {text.strip()}" if entry["type"] == "user" else text.strip()
                case {"type": "tool_use", "name": name, "input": input}:
                    yield f"[{name}] {msgspec.json.encode(input).decode()[:_INPUT_CHARS]}"
                case {"type": "tool_result", "content": inner}:
                    shown = inner if isinstance(inner, str) else text_of(inner)
                    yield f"[result] {shown.strip()[:_RESULT_CHARS]}"
                case {"type": "image" | "document" as kind}:
                    yield f"[{kind}]"
                case _:
                    pass


def _bundle(words: str, context: CommandContext) -> dict[str, Any]:
    session, config = context.session, context.settings.config()
    return {
        "what": words,
        "bridle": __version__,
        "compatible_with": COMPATIBLE_WITH,
        "python": platform.python_version(),
        "system": platform.platform(),
        "terminal": {name: context.env.get(name, "") for name in ("TERM", "TERM_PROGRAM", "LANG", "TMUX")},
        "session": session.id,
        "transcript": context.runtime.records.transcript,
        "model": session.state.model,
        "mode": session.state.mode,
        "entries": len(session.entries),
        "settings": _without_secrets(config.raw),
        "problems": [str(problem) for problem in config.problems],
        "tools": list(context.runtime.toolbox.names()),
        "last": None if context.server.last is None else msgspec.to_builtins(context.server.last.reason),
    }


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "(omitted)" if any(word in str(key).lower() for word in _SECRET) else _without_secrets(inner)
            for key, inner in value.items()
        }
    return [_without_secrets(each) for each in value] if isinstance(value, list) else value


async def _write(path: str, text: str) -> None:
    await asyncio.to_thread(write_atomic, path, f"{text.rstrip()}\n".encode(errors="replace"))
