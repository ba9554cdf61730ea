"""What fills the window of a session, from the real parts of its next request."""

import os.path
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from bridle.context.briefing import SessionBriefing
from bridle.context.compaction_report import dropped
from bridle.context.memory import INDEX, load_memory
from bridle.context.tokens import USUAL_RATIO, estimate, ratio_of, tokens_now, units_of
from bridle.engine.runtime import Runtime
from bridle.features.skills.session import SessionSkills
from bridle.transcripts.session import Session
from bridle.types.command import Commands
from bridle.types.services.session import MEMORY


class Item(Struct, frozen=True, kw_only=True):
    """One thing in a category: a tool, a file, a kind of message."""

    name: str
    tokens: int
    note: str = ""


class Category(Struct, frozen=True, kw_only=True):
    id: str
    """`system_prompt`, `system_tools`, `mcp_tools`, `memory_files`, `skills`, `messages`."""
    name: str
    tokens: int
    items: tuple[Item, ...] = ()
    """The largest first."""


class Breakdown(Struct, frozen=True, kw_only=True):
    """The window of the model that answers, in tokens."""

    model: str
    size: int
    used: int
    compact_at: int
    """Where the conversation is compacted unasked."""
    automatic: bool
    counted: bool
    """The service has counted this conversation, so the scale is set by it."""
    categories: tuple[Category, ...]

    @property
    def free(self) -> int:
        return max(0, self.size - self.used)

    @property
    def percent(self) -> int:
        return round(100 * self.used / self.size) if self.size else 0


class MemoryFile(Struct, frozen=True, kw_only=True):
    """An instruction file that the model was given."""

    path: str
    kind: str
    text: str


def context_breakdown(
    session: Session, runtime: Runtime, *, memory: Sequence[MemoryFile] = (), skills: Sequence[Item] = ()
) -> Breakdown:
    """What the next request would carry, scaled by the last token count of the service."""
    model = session.state.model
    measured = session.state.measured
    ratio = ratio_of(measured)
    system = tuple(
        Item(name=_title(block["text"], index), tokens=estimate(block["text"], ratio))
        for index, block in enumerate(runtime.briefing.system(model), 1)
    )
    own, foreign = _tools(runtime, ratio)
    files = tuple(Item(name=file.path, tokens=estimate(file.text, ratio), note=file.kind) for file in memory)
    scaled = tuple(_scaled(item, ratio / USUAL_RATIO) for item in skills)
    fixed = sum(item.tokens for item in (*system, *own, *foreign))
    total = tokens_now(session.history, measured, fixed=round(fixed / ratio))
    # Files and skills stand in the first message once the conversation has begun.
    inside = sum(item.tokens for item in (*files, *scaled)) if session.entries else 0
    said = total - fixed - inside
    if said <= 0:
        # A count that does not even cover prompt and tools says nothing about the rest.
        said = max(0, round(units_of(session.history) * ratio) - inside)
    window = runtime.window(model)
    categories = (
        _category("system_prompt", "System prompt", system),
        _category("system_tools", "System tools", own),
        _category("mcp_tools", "MCP tools", foreign),
        _category("memory_files", "Memory files", files),
        _category("skills", "Skills", scaled),
        Category(id="messages", name="Messages", tokens=said, items=_messages(session, ratio)),
    )
    used = sum(category.tokens for category in categories)
    return Breakdown(
        model=model,
        size=window.size,
        used=used,
        compact_at=window.compact_at,
        automatic=runtime.habits.automatic and runtime.habits.allowed,
        counted=measured is not None,
        categories=tuple(category for category in categories if category.tokens),
    )


def memory_files(runtime: Runtime) -> tuple[MemoryFile, ...]:
    """The instruction files that the conversation begins with."""
    files = runtime.briefing.files if isinstance(runtime.briefing, SessionBriefing) else ()
    own = tuple(MemoryFile(path=file.path, kind=file.kind, text=file.text) for file in files)
    return (*own, *_index_of(runtime.features.find(MEMORY)))


def _index_of(folder: str | None) -> tuple[MemoryFile, ...]:
    """The index of what was remembered, where there is one."""
    text = "" if folder is None else load_memory(folder).text
    return (MemoryFile(path=os.path.join(folder or "", INDEX), kind="AutoMem", text=text),) if text else ()


def skill_items(commands: Commands, skills: SessionSkills | None = None) -> list[Item]:
    """The listing of skills and agents that the model gets, with the cost of each entry."""
    # A long list is cut, so a skill may cost less than its description would, or nothing.
    listed = {} if skills is None else {**dict.fromkeys(skills.catalog.all(), 0), **skills.mentions()}
    costs = [(each, listed.get(each.name, each.tokens)) for each in commands.all()]
    return [Item(name=each.name, tokens=tokens, note=each.source) for each, tokens in costs if tokens]


def _scaled(item: Item, factor: float) -> Item:
    """An item whose tokens were estimated before the service had counted anything."""
    return Item(name=item.name, tokens=round(item.tokens * factor), note=item.note)


def _category(id: str, name: str, items: tuple[Item, ...]) -> Category:
    ordered = tuple(sorted(items, key=lambda item: -item.tokens))
    return Category(id=id, name=name, tokens=sum(item.tokens for item in items), items=ordered)


def _tools(runtime: Runtime, ratio: float) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    own: list[Item] = []
    foreign: list[Item] = []
    for definition in runtime.toolbox.definitions():
        name = definition["name"]
        tokens = round(len(msgspec.json.encode(definition)) * ratio)
        if name.startswith("mcp__") and name.count("__") >= 2:
            server = name.split("__", 2)[1]
            foreign.append(Item(name=name, tokens=tokens, note=server))
        else:
            own.append(Item(name=name, tokens=tokens))
    return tuple(own), tuple(foreign)


def _messages(session: Session, ratio: float) -> tuple[Item, ...]:
    return tuple(
        Item(name=row.kind, tokens=row.tokens, note=f"{row.count}") for row in dropped(session.entries, ratio)
    )


def _title(text: str, index: int) -> str:
    first = next((line.strip("# ").strip() for line in text.splitlines() if line.strip()), "")
    return first[:60] or f"part {index}"
