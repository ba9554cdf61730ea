"""How full the window is, by what fills it."""

import msgspec
from msgspec import Struct

from bridle.context.items import Item
from bridle.context.tokens import estimate, tokens_now
from bridle.context.window import Level, Window
from bridle.engine.items import list_items
from bridle.engine.runtime import Runtime
from bridle.sessions.session import Session


class Share(Struct, frozen=True):
    name: str
    tokens: int


class Occupancy(Struct, frozen=True, kw_only=True):
    """What the next request would carry."""

    model: str
    window: Window
    level: Level
    tokens: int
    shares: tuple[Share, ...]
    """System prompt, tools, MCP tools, reminders, messages, what is kept for the answer, free space."""
    costliest: tuple[Item, ...]

    @property
    def percent(self) -> int:
        return round(100 * self.tokens / self.window.size) if self.window.size else 0


def occupancy(session: Session, runtime: Runtime, *, most: int = 10) -> Occupancy:
    """Counted by the service as far as it has counted, estimated for the rest."""
    model, measured = session.state.model, session.state.measured
    ratio = measured.ratio if measured is not None else 0.25
    system = sum(estimate(block["text"], ratio) for block in runtime.briefing.system(model))
    tools: dict[bool, int] = {False: 0, True: 0}
    fixed = sum(len(block["text"]) for block in runtime.briefing.system(model))
    for definition in runtime.toolbox.definitions():
        size = len(msgspec.json.encode(definition))
        fixed += size
        tools[definition["name"].startswith("mcp__")] += round(size * ratio)
    items = list_items(session)
    reminders = sum(item.tokens for item in items if item.kind == "reminder")
    total = tokens_now(session.history, measured, fixed=fixed)
    window = runtime.window(model)
    said = max(0, total - system - tools[False] - tools[True] - reminders)
    free = max(0, window.usable - total)
    return Occupancy(
        model=model,
        window=window,
        level=window.level(total),
        tokens=total,
        shares=(
            Share("System prompt", system),
            Share("Tools", tools[False]),
            Share("MCP tools", tools[True]),
            Share("Reminders and memory", reminders),
            Share("Messages", said),
            Share("Kept for the answer", window.size - window.usable),
            Share("Free", free),
        ),
        costliest=tuple(sorted(items, key=lambda item: -item.tokens)[:most]),
    )
