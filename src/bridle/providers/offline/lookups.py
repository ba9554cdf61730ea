"""Requests to list, read, count and search files, and to run a command that the user spells out."""

import re
from collections.abc import Callable

from bridle.providers.offline.conversation import Conversation, known_text, numbered_text
from bridle.providers.offline.files import find_files, quoted, read_texts
from bridle.providers.offline.procedure import Call, Procedure, Result, shorten, use_one
from bridle.providers.offline.wording import (
    named_file,
    named_folder,
    named_kind,
    named_pattern,
    sought_definition,
    sought_text,
)

_MOST_LISTED = 25
_FULL_LISTING = 100
_MOST_LINES = 40
_LONGEST_LINE = 120
_NOT_PROGRAMS = r"(?:the|a|an|all|any|every|it|this|that|these|my|your|our|some|another)\b"
"""Words that show a sentence where a bare command could stand."""


def lookup(conversation: Conversation) -> Procedure | None:
    """The work for a prompt that asks to look something up, or None when it asks for something else."""
    opinions = (rule(conversation) for rule in LOOKUPS)
    return next((opinion for opinion in opinions if opinion is not None), None)


def run_command(conversation: Conversation) -> Procedure | None:
    prompt = conversation.prompt.strip()
    found = re.match(r"(?:please )?(?:run|execute)\b[^`]*`([^`\n]+)`", prompt, re.IGNORECASE)
    found = found or re.fullmatch(
        rf"(?:please )?(?:run|execute) ((?!{_NOT_PROGRAMS})[\w./-]+( [^`\n]+)?)", prompt
    )
    if found is None or ("`" not in prompt and re.search(r" (and|then|to|so|for) ", prompt)):
        return None
    return _run(conversation, found[1])


def count_lines(conversation: Conversation) -> Procedure | None:
    path = named_file(conversation.prompt)
    asked = re.search(
        r"\bhow (many lines|long)\b|line count|count (the )?lines", conversation.prompt, re.IGNORECASE
    )
    return _count(conversation, path) if asked and path else None


def outline(conversation: Conversation) -> Procedure | None:
    path = named_file(conversation.prompt)
    asked = re.search(r"\b(functions|classes|methods|definitions)\b", conversation.prompt, re.IGNORECASE)
    if not asked or not path:
        return None
    return _search(conversation, r"^\s*(async def|def|class)\s+\w+", title="definitions", folder=path)


def find_definition(conversation: Conversation) -> Procedure | None:
    if (name := sought_definition(conversation.prompt)) is None:
        return None
    words = "def|class|function|func|fn|const|let|var|type|struct|interface|enum"
    pattern = rf"\b({words})\s+{name}\b|^\s*{name}\s*(:[^=]+)?=[^=]"
    return _search(conversation, pattern, title=f"definitions of {name}")


def search_text(conversation: Conversation) -> Procedure | None:
    prompt = conversation.prompt.strip().rstrip("?.!")
    asked = re.search(
        r"\b(search|grep|look(ing)? for|find|locate|where|which files?|who (calls|uses)|usages?|occurrences?"
        r"|references?)\b",
        prompt,
        re.IGNORECASE,
    )
    if not asked or re.search(
        r"\bfiles? (named|called|ending)\b|\bfind (all |the |any )*(\w+ )?files\b", prompt, re.IGNORECASE
    ):
        return None
    if (subject := sought_text(prompt)) is None:
        return None
    return _search(conversation, re.escape(subject).replace(r"\ ", " "), title=f"matches for {subject!r}")


def list_files(conversation: Conversation) -> Procedure | None:
    prompt = conversation.prompt.lower()
    if re.fullmatch(r"(please )?(ls|dir|tree)\s*[.!?]*", prompt):
        return _list(conversation, "**/*")
    asked = re.search(r"\b(list|ls|show|find|what|what's|which|count|how many|give|display|see)\b", prompt)
    things = re.search(
        r"\b(files?|folders?|director(y|ies)|contents?|structure|tree|modules|here|tests)\b|\*", prompt
    )
    if (
        not asked
        or not things
        or re.search(r"\b(mean|means|explain|why|best|should|write|create|add)\b", prompt)
    ):
        return None
    return _list(conversation, named_pattern(prompt))


def read_named(conversation: Conversation) -> Procedure | None:
    asked = re.search(
        r"\b(show|read|open|print|cat|display|view|look at|see|what('s| is| does)|head|contents? of)\b",
        conversation.prompt,
        re.IGNORECASE,
    )
    path = named_file(conversation.prompt)
    return _show(conversation, path) if asked and path else None


LOOKUPS: tuple[Callable[[Conversation], Procedure | None], ...] = (
    run_command,
    count_lines,
    outline,
    find_definition,
    search_text,
    read_named,
    list_files,
)


def _run(conversation: Conversation, command: str) -> Procedure:
    result = yield from use_one(
        Call("Bash", {"command": command, "description": "Run the requested command"}),
        tools=conversation.tools,
        text=f"Running `{command}`.",
    )
    ending = "It failed" if result.is_error else "It succeeded"
    return f"{ending}:\n\n{_excerpt(result.text.splitlines())}"


def _count(conversation: Conversation, path: str) -> Procedure:
    if "Bash" in conversation.tools:
        result = yield from use_one(
            Call("Bash", {"command": f"wc -l {quoted(path)}", "description": "Count lines"}),
            tools=conversation.tools,
            text=f"Counting the lines of {path}.",
        )
        if (counted := re.match(r"\s*(\d+)\s", result.text)) and not result.is_error:
            return f"{path} has {counted[1]} lines."
        return f"Could not count the lines of {path}: {shorten(result.text)}"
    texts = yield from read_texts(conversation, (path,))
    return f"{path} has at least {len(texts[path].splitlines())} lines."


def _show(conversation: Conversation, path: str) -> Procedure:
    result = Result("", is_error=True)
    if "." in path:
        result = yield from use_one(
            Call("Read", {"file_path": path}), tools=conversation.tools, text=f"Reading {path}."
        )
    if result.is_error:
        name = path.rpartition("/")[2]
        found = yield from find_files(conversation, f"**/{name if '.' in path else name + '*'}")
        if not found:
            return f"No file named {path} here."
        path = min(found, key=lambda each: (each.count("/"), each))
        result = yield from use_one(Call("Read", {"file_path": path}), tools=conversation.tools)
    if result.is_error:
        return f"Reading {path} failed: {shorten(result.text)}"
    text = numbered_text(result.text) or known_text(conversation, path)
    if text is None:
        return f"{path}: {shorten(result.text)}"
    lines = text.splitlines()
    return f"{path}, {_amount(len(lines), 'line')}:\n\n{_excerpt(lines)}"


def _search(conversation: Conversation, pattern: str, *, title: str, folder: str | None = None) -> Procedure:
    folder = folder or named_folder(conversation.prompt)
    kind = named_kind(conversation.prompt)
    if "Grep" in conversation.tools or "Bash" not in conversation.tools:
        input = {"pattern": pattern, "output_mode": "content", "-n": True, "head_limit": 100}
        input |= {"path": folder} if folder else {}
        input |= {"glob": f"*.{kind}"} if kind else {}
        call = Call("Grep", input)
    else:
        only = f" --include={quoted('*.' + kind)}" if kind else ""
        command = f"grep -rnE{only} -e {quoted(pattern)} {quoted(folder or '.')}"
        call = Call("Bash", {"command": command, "description": "Search"})
    place = f" in {folder}" if folder else ""
    result = yield from use_one(call, tools=conversation.tools, text=f"Searching for {title}{place}.")
    if result.is_error and not result.text.startswith("Exit code 1"):
        return f"The search failed: {shorten(result.text)}"
    lines = [line for line in result.text.splitlines() if re.match(r"[^\s:]*[:-]?\d+[:-]", line)]
    if not lines:
        return f"No {title}{place}."
    # A search in a single file names no file on its lines.
    files = {line.split(":", 1)[0] for line in lines if not re.match(r"\d+[:-]", line)} or {
        folder or "one file"
    }
    counted = f"{_amount(len(lines), 'line')} in {_amount(len(files), 'file')}"
    return f"{title[0].upper()}{title[1:]}{place}: {counted}.\n\n{_excerpt(lines)}"


def _list(conversation: Conversation, pattern: str) -> Procedure:
    folder = named_folder(conversation.prompt)
    pattern = f"{folder.rstrip('/')}/{pattern}" if folder else pattern
    found = yield from find_files(conversation, pattern, text=f"Looking for `{pattern}`.")
    # A leading dot hides a file unless it was asked for by its dot.
    plain = found if "/." in f"/{pattern}" else [path for path in found if "/." not in f"/{path}"]
    if not plain:
        return f"No files match `{pattern}`{' but hidden ones' if found else ''}."
    found = plain
    found.sort(key=lambda path: (path.count("/"), path))
    lines = [f"- {path}" for path in found[:_MOST_LISTED]]
    if len(found) > _MOST_LISTED:
        lines.append(f"- and {len(found) - _MOST_LISTED} more")
    amount = "100 or more files" if len(found) >= _FULL_LISTING else _amount(len(found), "file")
    return f"{amount} for `{pattern}`:\n\n" + "\n".join(lines)


def _excerpt(lines: list[str]) -> str:
    shown = [
        line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines[:_MOST_LINES]
    ]
    if len(lines) > _MOST_LINES:
        shown.append(f"… {len(lines) - _MOST_LINES} more lines")
    fence = "````" if any("```" in line for line in shown) else "```"
    return "\n".join((fence, *shown, fence))


def _amount(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
