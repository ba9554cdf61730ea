"""What has changed: in the working tree, and in each turn."""

import os.path
from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.render.diff import FileChange, change_between, change_header, render_hunks
from bridle.frontends.tui.render.layout import MUTED, count, paragraph, style
from bridle.frontends.tui.screens.actions import EditFile
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.pane import Do, Pane, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.host.files import read_bytes

_MOST_LINES = 2_000
_SIGNS = {"changed": "~", "new": "+", "deleted": "−", "renamed": "→", "binary": "●"}
_COLORS = {"new": "added", "deleted": "removed"}


class DiffSource(Struct, frozen=True, kw_only=True):
    """One point of view: the working tree, or a turn."""

    name: str
    changes: tuple[FileChange, ...]


def diff_view(sources: Sequence[DiffSource], *, do: Do = nothing, tab: int = 0) -> TabbedView[None]:
    """The files of each source; enter shows the changes of one, left and right change the source."""
    panes: list[tuple[str, Pane]] = [(source.name, _pane(source, do)) for source in sources]
    if not panes:
        panes = [("", _pane(DiffSource(name="", changes=()), do))]
    return TabbedView("Changes", panes, selected=tab)


def _pane(source: DiffSource, do: Do) -> ListPane[FileChange]:
    known: dict[tuple[str, int], list[Line]] = {}

    def details(change: FileChange, width: int) -> list[Line]:
        # Coloring code takes long enough to be felt when done again with every key.
        if (change.path, width) not in known:
            known[change.path, width] = _details(change, width)
        return known[change.path, width]

    edit: Command[FileChange] = Command(
        key="e",
        words="open",
        when=lambda change: change.kind != "deleted",
        act=lambda change, _: EditFile(change.path, _first_line(change)) if change else None,
    )
    return ListPane(
        [_item(change) for change in source.changes],
        details=details,
        do=do,
        intro=(lambda width: [*paragraph(_total(source), width, MUTED), ()]) if source.changes else None,
        commands=(edit,),
        contexts=("DiffDialog",),
        empty="no changes",
    )


def _total(source: DiffSource) -> str:
    added = sum(change.added for change in source.changes)
    removed = sum(change.removed for change in source.changes)
    return f"{count(len(source.changes), 'file')} +{added:,} −{removed:,}"


def _item(change: FileChange) -> Item[FileChange]:
    numbers = " ".join(
        (
            *([f"+{change.added:,}"] if change.added else []),
            *([f"−{change.removed:,}"] if change.removed else []),
        )
    )
    return Item(
        value=change,
        label=change.path if change.kind != "renamed" else f"{change.old_path} → {change.path}",
        facts=(numbers,),
        sign=Span(_SIGNS[change.kind], style(_COLORS.get(change.kind, "muted"))),
    )


def _details(change: FileChange, width: int) -> list[Line]:
    if change.kind == "binary":
        return [change_header(change), (), *paragraph("Binary file.", width)]
    return [change_header(change), (), *render_hunks(change, width, limit=_MOST_LINES)]


def _first_line(change: FileChange) -> int | None:
    return change.hunks[0]["newStart"] if change.hunks else None


_MOST_FILES = 200
_LARGEST = 256 * 1024


def read_untracked(root: str, names: Sequence[str]) -> list[FileChange]:
    """Each file with all of its lines; what is no text, too large or gone has none."""
    return [_read(root, name) for name in names[:_MOST_FILES]]


def _read(root: str, name: str) -> FileChange:
    path = os.path.join(root, name)
    try:
        if os.path.islink(path) or os.path.getsize(path) > _LARGEST:
            return FileChange(path=name, kind="new")
        text = read_bytes(path, _LARGEST).decode()
    except OSError:
        return FileChange(path=name, kind="new")
    except UnicodeDecodeError:
        return FileChange(path=name, kind="binary")
    if "\0" in text:
        return FileChange(path=name, kind="binary")
    return change_between(name, "", text, exists=False)
