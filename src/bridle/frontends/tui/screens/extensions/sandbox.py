"""The boundary around commands: whether it stands, how it is used, and what it lets through."""

from typing import Literal

from msgspec import Struct

from bridle.frontends.tui.render.layout import MUTED, paragraph, style
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading
from bridle.frontends.tui.widgets.pane import Do, Pane, TextPane, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView

Mode = Literal["auto", "regular", "off"]

_MODES: tuple[tuple[Mode, str, str], ...] = (
    ("auto", "on, auto-allow", "sandboxed commands run without approval"),
    ("regular", "on, with approvals", "commands run in the sandbox, with your permission rules"),
    ("off", "off", "commands run unsandboxed, with your permission rules"),
)


class SandboxFacts(Struct, frozen=True, kw_only=True):
    mode: Mode
    """What the settings say."""
    now: Mode | None = None
    """What holds in this session, where that is another."""
    available: bool = True
    problems: tuple[str, ...] = ()
    """What is missing for it on this machine."""
    may_leave: bool = True
    """Whether a command may run outside with approval."""
    locked: str = ""
    """Why nothing can be changed here."""
    limits: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names such as `may write` with their paths or hosts."""


class SetSandbox(Struct, frozen=True):
    mode: Mode


class SetLeaving(Struct, frozen=True):
    allowed: bool


def sandbox_view(facts: SandboxFacts, *, do: Do = nothing) -> TabbedView[SandboxFacts]:
    """Tabs for the mode, for commands that want out, and for what the boundary lets through."""
    shown = facts
    modes: ListPane[Mode] = ListPane(
        _mode_items(facts),
        do=do,
        intro=lambda width: _intro(shown, width),
        selected=[mode for mode, _, _ in _MODES].index(facts.mode),
        accept=(
            Command(
                key="enter",
                words="use",
                when=lambda mode: not shown.locked and (shown.available or mode == "off"),
                act=lambda mode, _: SetSandbox(mode) if mode else None,
            ),
        ),
    )
    leaving: ListPane[bool] = ListPane(
        _leaving_items(facts),
        do=do,
        accept=(
            Command(
                key="enter",
                words="use",
                when=lambda _: not shown.locked,
                act=lambda allowed, _: None if allowed is None else SetLeaving(allowed),
            ),
        ),
    )
    limits = TextPane(lambda width: _limit_lines(shown, width))

    def update(now: SandboxFacts) -> None:
        nonlocal shown
        shown = now
        modes.replace(_mode_items(now))
        leaving.replace(_leaving_items(now))

    panes: list[tuple[str, Pane]] = [("mode", modes), ("overrides", leaving), ("limits", limits)]
    return TabbedView("Sandbox", panes, update=update)


def _mode_items(facts: SandboxFacts) -> list[Item[Mode]]:
    return [
        Item(value=mode, label=label, detail=detail, sign=_tick(on=mode == facts.mode))
        for mode, label, detail in _MODES
    ]


def _leaving_items(facts: SandboxFacts) -> list[Item[bool]]:
    return [
        Item(
            value=True,
            label="may run outside with approval",
            detail="bridle asks you each time",
            sign=_tick(on=facts.may_leave),
        ),
        Item(
            value=False,
            label="never run outside",
            detail="commands that can't run inside fail",
            sign=_tick(on=not facts.may_leave),
        ),
    ]


def _tick(*, on: bool) -> Span:
    return Span("✓" if on else " ", style("success"))


def _intro(facts: SandboxFacts, width: int) -> list[Line]:
    rows: list[Line] = []
    if facts.now is not None and facts.now != facts.mode:
        label = next(label for mode, label, _ in _MODES if mode == facts.now)
        rows += paragraph(f"This session started with: {label}. A change applies from the next start.", width)
    if facts.locked:
        rows += paragraph(facts.locked, width, style("warning"))
    for problem in facts.problems:
        rows += paragraph(f"! {problem}", width, style("warning"))
    return [*rows, ()] if rows else []


def _limit_lines(facts: SandboxFacts, width: int) -> list[Line]:
    rows: list[Line] = []
    for name, values in facts.limits:
        rows += [*([()] if rows else []), heading(name)]
        rows += [row for value in values for row in paragraph(f"  {value}", width)]
        rows += [] if values else paragraph("  nothing", width, MUTED)
    return rows or paragraph("No limits are set.", width, MUTED)
