"""The browser of earlier conversations."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import CLOSE, spoken
from bridle.frontends.tui.render.call import short_path, size
from bridle.frontends.tui.render.layout import one_line, paragraph
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.screens.conversation.transcript import TranscriptView
from bridle.frontends.tui.screens.conversation.transcript_items import TranscriptItem
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.list_pane import Command, CommandInput, ListPane
from bridle.frontends.tui.widgets.page import heading, page, pair, room, tab_line
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.relative_time import ago, period
from bridle.transcripts.listing import SessionInfo

Scope = Literal["here", "worktrees", "all"]

_SCOPES: dict[Scope, str] = {"here": "this folder", "worktrees": "with worktrees", "all": "all projects"}


class Resume(Struct, frozen=True, kw_only=True):
    """Resume this conversation."""

    session_id: str
    fork: bool = False
    """In a copy, leaving the original as it is."""
    command: str = ""
    """What to run instead, when it belongs to a folder outside of this project."""
    folder: str = ""
    """Leave this folder, and open it in that one."""


class RenameSession(Struct, frozen=True):
    session_id: str
    title: str


class TagSession(Struct, frozen=True):
    session_id: str
    word: str | None
    """None takes the tag away."""


class DeleteSession(Struct, frozen=True):
    session_id: str


class LoadSessions(Struct, frozen=True):
    """List the conversations of another scope; hand them to `ResumeView.show`."""

    scope: Scope


class SearchText(Struct, frozen=True):
    """Look for words in the text of these conversations; hand what is found to `ResumeView.show_found`."""

    query: str
    sessions: Sequence[SessionInfo]


class ResumeContext(Struct, frozen=True, kw_only=True):
    """Where the user is."""

    cwd: str
    now: float
    """Seconds since the epoch."""
    branch: str = ""
    worktrees: tuple[str, ...] = ()
    current: str = ""
    """The conversation that is open."""


class ResumeView:
    """Searches with every letter; ctrl keys narrow the list and change the selected conversation."""

    is_full = True
    refresh = None

    def __init__(
        self,
        sessions: Sequence[SessionInfo],
        around: ResumeContext,
        *,
        preview: Callable[[SessionInfo], Sequence[TranscriptItem]] | None = None,
        scope: Scope = "here",
        query: str = "",
        origins: Mapping[str, str] | None = None,
        do: Do = nothing,
    ) -> None:
        """`origins` says of which conversation one is a copy."""
        self._sessions = sessions
        self._origins = origins or {}
        self._around = around
        self._preview = preview
        self._scope: Scope = scope
        self._do = do
        self._is_branch_only = False
        self._tag = ""
        self._query = ""
        self._found: Mapping[str, str] = {}
        """Conversations whose text has the words of the search, and where."""
        self._reading: TranscriptView | None = None
        self._list: ListPane[SessionInfo] = ListPane(
            [],
            typing=True,
            accept=(self._resuming("enter", "resume"),),
            commands=self._commands(),
            details=self._facts,
            do=do,
            empty="no conversations here",
        )
        self._refill()
        self.paste(query)

    @property
    def contexts(self) -> tuple[str, ...]:
        return self._list.contexts if self._reading is None else self._reading.contexts

    def show(
        self,
        sessions: Sequence[SessionInfo],
        scope: Scope | None = None,
        origins: Mapping[str, str] | None = None,
    ) -> None:
        """Have other conversations."""
        self._origins = origins or {}
        self._sessions = sessions
        self._scope = scope or self._scope
        self._refill()

    def show_found(self, query: str, found: Mapping[str, str]) -> None:
        """Have conversations whose text has the words, unless others are searched for by now."""
        if query == self._query:
            self._found = found
            self._refill()

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        if self._reading is not None:
            return self._reading.render(width, height, keys)
        tags = self._tags()
        body, cursor = self._list.body(width, room(height, tabs=bool(tags)))
        aside = f"on {self._around.branch} · " if self._is_branch_only else ""
        return page(
            "Resume a conversation",
            body,
            width=width,
            height=height,
            hints=spoken(
                [*self._list.hints, (CLOSE, "back" if self._list.is_busy else "close")], keys, self.contexts
            ),
            aside=aside + _SCOPES[self._scope],
            tabs=tab_line(["all", *tags], tags.index(self._tag) + 1 if self._tag else 0, width)
            if tags
            else None,
            cursor=cursor,
        )

    def press(self, key: Key, action: str | None) -> Closed[Any] | None:
        if self._reading is not None:
            if str(key) == "enter" and self._reading.contexts:
                return Closed(self._resume(self._list.picker.current, CommandInput()))
            if self._reading.press(key, action) is not None:
                self._reading = None
            return None
        if not self._list.is_busy and self._press_filter(str(key)):
            return None
        pressed = self._list.press(key, action)
        self._search()
        match pressed:
            case Closed() as closed:
                return closed
            case False if str(key) in ("escape", "ctrl+c"):
                return Closed(None)
            case _:
                return None

    def paste(self, text: str) -> None:
        (self._reading or self._list).paste(text)
        self._search()

    def _search(self) -> None:
        """Look for a new query in the text of the conversations too."""
        if (query := self._list.picker.query) == self._query:
            return
        self._query, self._found = query, {}
        selected = self._list.picker.selected
        self._refill()
        self._list.picker.select(selected)
        self._do(SearchText(query, self._sessions))

    def _press_filter(self, name: str) -> bool:
        match name:
            case "ctrl+b" if self._around.branch:
                self._is_branch_only = not self._is_branch_only
            case "tab" | "shift+tab" if tags := ["", *self._tags()]:
                step = 1 if name == "tab" else -1
                self._tag = tags[(tags.index(self._tag) + step) % len(tags)]
            case "ctrl+a" | "ctrl+w":
                wanted: Scope = "all" if name == "ctrl+a" else "worktrees"
                self._scope = "here" if self._scope == wanted else wanted
                self._do(LoadSessions(self._scope))
            case "ctrl+v" if self._preview is not None and (current := self._list.picker.current) is not None:
                title = one_line(current.summary)
                self._reading = TranscriptView(self._preview(current), title=title, alone=False)
            case _:
                return False
        self._refill()
        return True

    def _refill(self) -> None:
        shown = [
            each
            for each in self._sessions
            if (not self._is_branch_only or each.git_branch == self._around.branch)
            and (not self._tag or each.tag == self._tag)
        ]
        if self._scope == "all":
            # Projects in the order of their newest conversation, which comes first already.
            order = list(dict.fromkeys(each.cwd or "" for each in shown))
            shown.sort(key=lambda each: order.index(each.cwd or ""))
        if self._query:
            self._list.replace([self._item(each) for each in shown])
        else:
            self._list.replace([self._item(*each) for each in in_families(shown, self._origins)])

    def _item(
        self, info: SessionInfo, depth: int = 0, newest: SessionInfo | None = None
    ) -> Item[SessionInfo]:
        """A row; a copy stands below its origin, in the group of the newest of them."""
        first = newest or info
        then = info.last_modified / 1000
        now = self._around.now
        tag = f"#{info.tag}" if info.tag else ""
        is_elsewhere = self._scope == "worktrees" and info.cwd not in (None, self._around.cwd)
        place = os.path.basename(info.cwd or "") if is_elsewhere else ""
        mark = " (current)" if info.session_id == self._around.current else ""
        place_found = self._found.get(info.session_id, "")
        return Item(
            value=info,
            label=f"{'  ' * (depth - 1)}└ {info.summary}{mark}" if depth else info.summary + mark,
            # A place in the text needs the room of the other facts.
            facts=(ago(then, now),) if self._found else (ago(then, now), tag, info.git_branch or "", place),
            detail=place_found,
            group=short_path(first.cwd or "elsewhere", "")
            if self._scope == "all"
            else period(first.last_modified / 1000, now),
            words=f"{info.first_prompt or ''} {info.session_id} {tag} {info.git_branch or ''} {place} "
            f"{self._query if place_found else ''}",
        )

    def _facts(self, info: SessionInfo, width: int) -> list[Line]:
        rows = [heading(info.summary), ()]
        rows += pair("changed", ago(info.last_modified / 1000, self._around.now), width, column=10)
        for name, value in (
            ("branch", info.git_branch),
            ("folder", short_path(info.cwd or "", "")),
            ("tag", info.tag),
            ("size", size(info.file_size) if info.file_size else None),
            ("id", info.session_id),
        ):
            rows += pair(name, value, width, column=10) if value else []
        if place_found := self._found.get(info.session_id):
            rows += [(), heading("found"), *paragraph(place_found, width)]
        if info.first_prompt and info.first_prompt != info.summary:
            rows += [(), heading("first prompt"), *paragraph(info.first_prompt, width)]
        return rows

    def _tags(self) -> list[str]:
        return sorted({each.tag for each in self._sessions if each.tag})

    def _commands(self) -> Sequence[Command[SessionInfo]]:
        def flip(_: SessionInfo | None, __: CommandInput) -> None:
            """Only names the key; `_press_filter` takes it before the list does."""

        return (
            Command(
                key="ctrl+g",
                words="open there",
                when=lambda info: bool(self._command_for(info)),
                act=lambda info, _: self._open_there(info),
                closes=True,
            ),
            *([_named("ctrl+v", "preview", flip)] if self._preview is not None else []),
            Command(
                key="ctrl+r",
                words="rename",
                ask="New title",
                initial=lambda info: info.custom_title or "",
                check=lambda _, text: "" if text else "a title cannot be empty",
                act=lambda info, given: RenameSession(info.session_id, given.text) if info else None,
            ),
            _named("ctrl+a", "all projects", flip),
            *([_named("ctrl+b", "this branch", flip)] if self._around.branch else []),
            *([_named("ctrl+w", "worktrees", flip)] if len(self._around.worktrees) > 1 else []),
            Command(
                key="ctrl+t",
                words="tag",
                ask="Tag (empty to remove it)",
                initial=lambda info: info.tag or "",
                act=lambda info, given: TagSession(info.session_id, given.text or None) if info else None,
            ),
            self._resuming("ctrl+f", "resume a copy"),
            Command(
                key="ctrl+x",
                words="delete",
                confirm="Delete this conversation and its saved file versions?",
                when=lambda info: info.session_id != self._around.current,
                act=lambda info, _: DeleteSession(info.session_id) if info else None,
            ),
        )

    def _resuming(self, key: str, words: str) -> Command[SessionInfo]:
        fork = key != "enter"
        return Command(
            key=key, words=words, act=lambda info, given: self._resume(info, given, fork=fork), closes=True
        )

    def _resume(self, info: SessionInfo | None, _: CommandInput, *, fork: bool = False) -> Resume | None:
        if info is None:
            return None
        return Resume(session_id=info.session_id, fork=fork, command=self._command_for(info))

    def _open_there(self, info: SessionInfo | None) -> Resume | None:
        if info is None or not info.cwd:
            return None
        return Resume(session_id=info.session_id, command=self._command_for(info), folder=info.cwd)

    def _command_for(self, info: SessionInfo) -> str:
        import shlex

        known = {self._around.cwd, *self._around.worktrees}
        if not info.cwd or info.cwd in known:
            return ""
        return f"cd {shlex.quote(info.cwd)} && bridle --resume {info.session_id}"


def in_families(
    sessions: Sequence[SessionInfo], origins: Mapping[str, str]
) -> Iterator[tuple[SessionInfo, int, SessionInfo]]:
    """Copies below their origin, each with its depth and the newest of its family; new families first."""
    known = {each.session_id: each for each in sessions}
    families: dict[str, list[SessionInfo]] = {}
    above: dict[str, str] = {}
    for each in sessions:
        path = [each.session_id]
        while (origin := origins.get(path[-1])) in known and origin not in path:
            path.append(origin)
        if len(path) > 1 and origins.get(path[-1]) not in path:
            above[each.session_id] = path[1]
            families.setdefault(path[-1], []).append(each)
        else:
            families.setdefault(each.session_id, []).append(each)
    for root, members in families.items():
        waiting = [(known[root], 0)]
        while waiting:
            info, depth = waiting.pop()
            yield info, depth, members[0]
            below = [each for each in members if above.get(each.session_id) == info.session_id]
            waiting += [(each, depth + 1) for each in reversed(below)]


def _named(
    key: str, words: str, act: Callable[[SessionInfo | None, CommandInput], None]
) -> Command[SessionInfo]:
    return Command(key=key, words=words, act=act, alone=True)
