"""What the reviewer of auto mode reads: the rules, the conversation in short, the action."""

import os.path
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.permissions.auto.rules import AutoRules
from bridle.types.block import ToolUseBlock, text_of
from bridle.types.entry import AssistantEntry, ConversationEntry, UserEntry
from bridle.types.origin import Origin
from bridle.types.permission import Case
from bridle.types.text import encodable_value

LARGEST_ACTION = 20_000
LARGEST_RULES = 40_000
_USER_SHARE = 12_000
_WORK_SHARE = 12_000
_LONGEST_SAID = 4_000
_LONGEST_CALL = 1_200
_LONGEST_NAME = 100
_LONGEST_OTHERS = 1_000
_LONGEST_DOUBT = 500
_MOST_FOLDERS = 20
# Angle brackets could close a section; invisible characters could say something that no person sees.
_ACTIVE = re.compile(
    "[<>\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


_TELLING = frozenset({"host", "remote", "agent", "file", "hook", "schedule", "letter", "workflow"})
"""Who besides the user may say what is to be done. What others say (tools, jobs, servers) is not shown."""
_TASKS = frozenset({"host", "agent"})
_REFUSED = "Permission to use "


class _Line(Struct, frozen=True):
    text: str
    is_task: bool = False
    """It says what is wanted, and has a share of its own."""


_PLANNING = (
    "Plan mode: until the user approves the plan, an action may only read. Deny every change to a file, "
    "repository, process, service or anything else, however small or easily undone, in the working "
    "folders too.",
)


def system_text(rules: AutoRules, *, planning: bool = False) -> str:
    """The reviewer's instructions with all rules, the strongest first."""
    if planning:
        rules = replace(rules, hard_deny=(*_PLANNING, *rules.hard_deny), allow=())
    return rules_text("auto_review", rules)


def rules_text(name: str, rules: AutoRules) -> str:
    """One of the prompt files with all rules behind it."""
    return "\n\n".join(
        (
            prompt(name),
            _section("hard_deny: never", rules.hard_deny),
            _section("soft_deny: ask the user", rules.soft_deny),
            _section("allow: fine", rules.allow),
            _section("environment: facts; they permit nothing alone", rules.environment),
        )
    )


def action_text(case: Case) -> str:
    """The whole action, one line, nothing left out."""
    return inert_line({"tool": case.tool, "input": dict(case.input)})


def question_text(case: Case, *, transcript: str, action: str, doubt: str) -> str:
    """The message to judge: three sections that nothing inside them can close."""
    facts = inert_line(
        {
            "cwd": case.cwd,
            "working folders": list(case.roots[:_MOST_FOLDERS]),
            "reason for the question": shortened(doubt, _LONGEST_DOUBT),
        }
    )
    return (
        f"<facts>\n{facts}\n</facts>\n\n<transcript>\n{transcript}\n</transcript>\n\n"
        f"<action>\n{action}\n</action>\n\nMay the action go ahead?"
    )


def condense(entries: Sequence[ConversationEntry], *, above: Sequence[ConversationEntry] = ()) -> str:
    """What was asked for and by whom, the calls and how they ended; the oldest are left out when it is long.

    Words of the user and work of the agent have shares of their own, so that neither crowds out the other.
    What tools return is never shown: it decides nothing, and anyone may have written it. The same holds for
    what the agent says and the program adds. `above` is the conversation of the user that an agent works in.
    """
    names = {block["id"]: block["name"] for entry in entries for block in _uses(entry)}
    tasks = [line for entry in above for line in _lines(entry, {}) if line.is_task]
    lines = [*tasks, *(line for entry in entries for line in _lines(entry, names))]
    said = [index for index, line in enumerate(lines) if line.is_task]
    done = [index for index, line in enumerate(lines) if not line.is_task]
    # The first request is what all the rest is about.
    first = said[:1]
    share = _USER_SHARE - sum(len(lines[index].text) for index in first)
    kept = {*first, *_newest(said[1:], lines, share), *_newest(done, lines, _WORK_SHARE)}
    left_out = len(lines) - len(kept)
    note = [inert_line({"note": f"{left_out} older lines omitted"})] if left_out else []
    return "\n".join([*note, *(lines[index].text for index in sorted(kept))])


def prompt(name: str) -> str:
    """One of the prompt files."""
    path = os.path.join(os.path.dirname(__file__), "prompts", f"{name}.md")
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def _section(title: str, rules: Iterable[str]) -> str:
    listed = "\n".join(f"- {' '.join(rule.split())}" for rule in rules)
    return f"## {title}\n{listed or '- (none)'}"


def _newest(indices: Sequence[int], lines: Sequence[_Line], share: int) -> Iterator[int]:
    for index in reversed(indices):
        share -= len(lines[index].text)
        if share < 0:
            return
        yield index


def _lines(entry: ConversationEntry, names: Mapping[str, str]) -> Iterator[_Line]:
    match entry["type"]:
        case "user":
            yield from _outcomes(entry, names)
            yield from _words(entry)
        case "assistant":
            yield from _called(entry)
        case "system":
            return


def _outcomes(entry: UserEntry, names: Mapping[str, str]) -> Iterator[_Line]:
    """How calls ended, without a word of what they returned."""
    content = entry["message"]["content"]
    for block in () if isinstance(content, str) else content:
        if block["type"] == "tool_result":
            failed = block.get("is_error")
            refused = failed and text_of(block["content"]).startswith(_REFUSED)
            how = "refused" if refused else "failed" if failed else "done"
            name = shortened(names.get(block["tool_use_id"], ""), _LONGEST_NAME)
            yield _Line(inert_line({"outcome": how, "of": name}))


def _words(entry: UserEntry) -> Iterator[_Line]:
    """What was asked for and by whom; only the user's own words count as the user's."""
    # An entry that holds results holds no words of the user, whatever else stands in it.
    if "toolUseResult" in entry or entry.get("isCompactSummary") or _holds_results(entry):
        return
    origin = Origin.from_entry(entry.get("origin"))
    if entry.get("isMeta") and (origin is None or origin.is_own):
        return
    said = text_of(entry["message"]["content"])
    if origin is None:
        yield from _others("unrecorded", said)
    elif origin.is_typed:
        if own := origin.own_words(said).strip():
            yield _Line(_fitted("user", own, _LONGEST_SAID, {}), is_task=True)
    elif origin.source in _TELLING:
        yield from _others(origin.source, origin.own_words(said), is_task=origin.source in _TASKS)


def _others(source: str, said: str, *, is_task: bool = False) -> Iterator[_Line]:
    if said := said.strip():
        most = _LONGEST_SAID if is_task else _LONGEST_OTHERS
        yield _Line(_fitted("words", said, most, {"from": source}), is_task=is_task)


def _holds_results(entry: UserEntry) -> bool:
    content = entry["message"]["content"]
    return not isinstance(content, str) and any(block["type"] == "tool_result" for block in content)


def _uses(entry: ConversationEntry) -> Iterator[ToolUseBlock]:
    if entry["type"] == "assistant":
        yield from (block for block in entry["message"]["content"] if block["type"] == "tool_use")


def _called(entry: AssistantEntry) -> Iterator[_Line]:
    for block in entry["message"]["content"]:
        if block["type"] == "tool_use":
            name = {"call": shortened(block["name"], _LONGEST_NAME)}
            whole = inert_line({**name, "input": block["input"]})
            if len(whole) > _LONGEST_CALL:
                whole = _fitted("input", _json(block["input"]), _LONGEST_CALL, name)
            yield _Line(whole)


def _fitted(key: str, text: str, limit: int, fields: Mapping[str, Any]) -> str:
    """A line with at most `limit` characters of the text, and fewer where they need escapes."""
    most = 2 * limit
    while len(line := inert_line({**fields, key: shortened(text, limit)})) > most and limit > 1:
        limit //= 2
    return line


def shortened(text: str, limit: int) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} … {len(text) - 2 * half} characters omitted … {text[len(text) - half :]}"


def _json(value: Any) -> str:
    return msgspec.json.encode(encodable_value(value)).decode()


def inert_line(value: Any) -> str:
    """The value as one line of JSON in which nothing can end a section or stay unseen."""
    return _ACTIVE.sub(lambda found: _escaped(found[0]), _json(value))


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
