"""Where the user writes: the prompt with its completions, its past, and its modes."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bridle.frontends.tui.completion.commands import complete_argument, complete_command, find_command
from bridle.frontends.tui.completion.completion import Completion
from bridle.frontends.tui.completion.mentions import Files, Resource, complete_mention
from bridle.frontends.tui.completion.trigger import Mode, Trigger, mode_of, trigger_at
from bridle.frontends.tui.editing.editor import Draft, Editor
from bridle.frontends.tui.editing.editor_view import PromptStyle, render
from bridle.frontends.tui.editing.history import Browsing, History, HistoryEntry, Search
from bridle.frontends.tui.render.completion_menu import completion_menu
from bridle.frontends.tui.render.layout import style
from bridle.frontends.tui.screen.view import Frame
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.types.command import Command

if TYPE_CHECKING:
    from bridle.frontends.tui.editing.spelling import Spelling
    from bridle.frontends.tui.editing.vim import Vim

_MENU_ROWS = 8
_LEAST_ROWS = 3


class CompletionSources(Struct, frozen=True, kw_only=True):
    """What completions are taken from."""

    cwd: Callable[[], str]
    index: Files
    commands: Callable[[], Sequence[Command]]
    resources: Callable[[], Sequence[Resource]] = tuple
    agents: Callable[[], Sequence[tuple[str, str]]] = tuple


class InputArea:
    """The box at the bottom of the window."""

    def __init__(
        self,
        around: CompletionSources,
        history: History,
        *,
        vim: bool = False,
        remaps: Mapping[str, str] | None = None,
        readline: bool = False,
        emoji: bool = True,
    ) -> None:
        """`remaps` are two keys, such as `jj`, that leave vim's insert mode; `emoji` completes emoji."""
        self._emoji = emoji
        self.spelling: Spelling | None = None
        self.editor = Editor(readline_words=readline)
        self._remaps = remaps
        self.vim: Vim | None = None
        self.use_vim(on=vim)
        self.history = history
        self._around = around
        self._browsing: Browsing | None = None
        self._search: Search | None = None
        self._menu: Sequence[Completion] = ()
        self._at = 0
        self._trigger: Trigger | None = None
        self.search_keys: Sequence[tuple[str, str]] = ()
        """What keys do while the past is searched."""
        self._dismissed = ""
        """The text for which the user does not want to see the list."""

    @property
    def mode(self) -> Mode:
        return mode_of(self.editor.text)

    @property
    def is_searching(self) -> bool:
        return self._search is not None

    @property
    def is_browsing(self) -> bool:
        """Whether a prompt of the past is shown."""
        return self._browsing is not None and not self._browsing.is_at_draft

    @property
    def has_menu(self) -> bool:
        return bool(self._menu)

    @property
    def is_on_first_row(self) -> bool:
        return self.editor.layout().place(self.editor.cursor)[0] == 0

    @property
    def contexts(self) -> tuple[str, ...]:
        """Where keys are looked up."""
        if self._search is not None:
            return ("HistorySearch",)
        return ("Autocomplete", "Chat", "Global") if self._menu else ("Chat", "Global")

    def use_vim(self, *, on: bool) -> None:
        """Read keys as vim does, or not."""
        if on == (self.vim is not None):
            return
        # Those who do not use it need not wait for it.
        from bridle.frontends.tui.editing.vim import Vim

        self.vim = Vim(self.editor, remaps=self._remaps) if on else None

    def press(self, key: Key, action: str | None) -> Draft | None:
        """Edit as a key asks; returns the prompt when it is to be sent."""
        if self._search is not None:
            return self._press_searching(self._search, key, action)
        match action:
            case "autocomplete:accept":
                self._accept()
            case "autocomplete:dismiss":
                self._dismissed, self._menu = self.editor.text, ()
            case "autocomplete:previous":
                self._at = (self._at - 1) % max(len(self._menu), 1)
            case "autocomplete:next":
                self._at = (self._at + 1) % max(len(self._menu), 1)
            case "history:search":
                self._search = Search(lambda everywhere: self.history.entries(everywhere=everywhere))
            case "history:previous":
                self._go_back()
            case "history:next":
                self._go_forward()
            case "chat:submit":
                return self._submit()
            case "chat:newline":
                self.editor.newline()
                self._changed()
            case "chat:undo":
                self.editor.undo()
                self._changed()
            case "chat:stash":
                self.editor.stash()
                self._changed()
            case "chat:clearInput":
                self.clear()
            case _:
                self._edit(key)
        return None

    def paste(self, text: str) -> None:
        """Put pasted text in; into the query while searching."""
        if self._search is not None:
            self._search.type(" ".join(text.split())[:200])
            return
        self.editor.paste(text)
        self._changed()

    def clear(self) -> None:
        """Empty the prompt; it can be undone."""
        self.editor.set("")
        self._changed()

    def put(self, remembered: HistoryEntry) -> None:
        """Have a prompt of the past in the box."""
        self.editor.attachments.restore(remembered.attachments)
        self.editor.set(remembered.shown)
        self._refresh_menu()

    def refresh(self) -> None:
        """What can be completed has changed."""
        self._refresh_menu()

    async def refresh_files(self) -> None:
        """List the files that can be mentioned, if they may have changed.

        Raises:
            OSError: the folder cannot be read.
        """
        if await self._around.index.refresh():
            self._refresh_menu()

    def wants_vim(self, key: Key) -> bool:
        """Whether vim takes a key before anything else does."""
        return self.vim is not None and key.name == "escape" and self.vim.mode != "NORMAL" and not self._menu

    def press_vim(self, key: Key) -> None:
        """Let vim have a key."""
        if self.vim is not None:
            self.vim.press(key)

    def render(self, width: int, height: int, look: PromptStyle, *, edge: str) -> Frame:
        """The box and the list below it."""
        border: Line = (Span("─" * width, style(edge)),)
        most = max(min(height - _LEAST_ROWS, height // 2), 1)
        if self._search is not None:
            # Most prompts are sent without a search.
            from bridle.frontends.tui.editing.history_search import render_search

            return render_search(
                self._search, width, height, border=border, now=time.time(), keys=self.search_keys
            )
        rows, (row, column) = render(self.editor, width, self._checked(_with_rows(look, most, self._ghost())))
        lines: list[Line] = [border, *rows, border]
        room = min(_MENU_ROWS, height - len(lines) - 1)
        if self._menu and room > 0:
            lines += completion_menu(self._menu, self._at, width, rows=room)
        elif self._is_unknown and room > 0:
            lines.append(cells.truncate((Span("  no command matches", style("warning")),), width))
        return Frame(lines, (row + 1, column))

    def _checked(self, look: PromptStyle) -> PromptStyle:
        if self.spelling is None:
            return look
        faults = self.spelling.faults(self.editor.text, self.editor.cursor)
        return replace(look, faults=faults, fault_style=self.spelling.style) if faults else look

    def _edit(self, key: Key) -> None:
        if self.vim is not None:
            if self.vim.press(key):
                self._changed()
        elif self.editor.press(key):
            self._changed()
        if key.text == ":" and self._emoji:
            self._replace_emoji()

    def _changed(self) -> None:
        self._browsing = None
        self._refresh_menu()

    def _replace_emoji(self) -> None:
        """Put an emoji in the place of its name between colons."""
        from bridle.frontends.tui.completion.emoji import whole_name

        editor = self.editor
        if self.mode != "bash" and (found := whole_name(editor.text[: editor.cursor])) is not None:
            start, emoji = found
            editor.replace(start, editor.cursor, emoji)
            self._changed()

    def _refresh_menu(self) -> None:
        editor = self.editor
        self._trigger = None
        if editor.text and editor.text != self._dismissed and self.mode not in ("bash", "memory"):
            self._trigger = trigger_at(editor.text, editor.cursor)
        self._menu = () if self._trigger is None else self._complete(self._trigger)
        self._at = 0
        if editor.text != self._dismissed:
            self._dismissed = ""

    def _complete(self, trigger: Trigger) -> Sequence[Completion]:
        around = self._around
        match trigger.kind:
            case "emoji":
                # Few prompts have any.
                from bridle.frontends.tui.completion.emoji import complete_emoji

                return complete_emoji(trigger.query) if self._emoji else ()
            case "command":
                return complete_command(trigger.query, around.commands())
            case "argument":
                return self._complete_argument(trigger)
            case "mention":
                return complete_mention(
                    trigger,
                    cwd=around.cwd(),
                    index=around.index,
                    resources=around.resources(),
                    agents=around.agents(),
                )

    def _complete_argument(self, trigger: Trigger) -> Sequence[Completion]:
        command = find_command(trigger.command, self._around.commands())
        found = complete_argument(trigger.query, command) if command is not None else []
        return [] if any(each.text == trigger.query.strip() for each in found) else found

    def _accept(self) -> Completion | None:
        if self._trigger is None or not self._menu:
            return None
        chosen = self._menu[min(self._at, len(self._menu) - 1)]
        self.editor.replace(self._trigger.start, self.editor.cursor, chosen.text)
        self._refresh_menu()
        return chosen

    def _submit(self) -> Draft | None:
        if not self.editor.enter():
            self._changed()
            return None
        if self._menu and self._trigger is not None and not self._is_complete(self._trigger):
            chosen = self._accept()
            if chosen is None or chosen.kind != "command" or self._takes_arguments():
                return None
        if not self.editor.text.strip():
            return None
        draft = self.editor.submit()
        if self.vim is not None:
            self.use_vim(on=False)
            self.use_vim(on=True)
        self._changed()
        return draft

    def _is_complete(self, trigger: Trigger) -> bool:
        """Whether what was typed is complete, regardless of the completions on offer."""
        if trigger.kind == "command":
            return find_command(trigger.query, self._around.commands()) is not None and self._at == 0
        return trigger.kind in ("argument", "emoji") and self._at == 0

    def _takes_arguments(self) -> bool:
        command = find_command(self.editor.text[1:].strip(), self._around.commands())
        return command is not None and bool(command.argument_hint)

    @property
    def _is_unknown(self) -> bool:
        """Whether a command is typed whose name nothing matches."""
        trigger = self._trigger
        return trigger is not None and trigger.kind == "command" and not self._menu and trigger.query != ""

    def _ghost(self) -> str:
        """What may follow a command that was typed."""
        text = self.editor.text
        if self.mode != "command" or not text.endswith(" ") or "\n" in text:
            return ""
        command = find_command(text[1:].strip(), self._around.commands())
        return "" if command is None else command.argument_hint

    def _go_back(self) -> None:
        if self.editor.move_rows(-1):
            return
        if self._browsing is None:
            self._browsing = Browsing(self.history.entries(), self.editor.text)
        if (found := self._browsing.previous()) is not None:
            self.put(found)
            self._dismiss()

    def _go_forward(self) -> None:
        if self._browsing is None or self._browsing.is_at_draft:
            self.editor.move_rows(1)
            return
        match self._browsing.next():
            case str() as draft:
                self.editor.set(draft)
            case HistoryEntry() as found:
                self.put(found)
            case None:
                pass
        self._dismiss()

    def _dismiss(self) -> None:
        """A prompt of the past is not being typed: nothing is offered for it."""
        self._dismissed, self._menu = self.editor.text, ()

    def _press_searching(self, search: Search, key: Key, action: str | None) -> Draft | None:
        match action:
            case "historySearch:next":
                search.next()
            case "historySearch:cycleScope":
                search.cycle_scope()
            case "historySearch:cancel":
                self._search = None
            case "historySearch:accept" if key.name == "escape" and not search.query and not search.at:
                self._search = None  # Nothing was looked for.
            case "historySearch:accept" | "historySearch:execute":
                self._search = None
                if (found := search.current) is not None:
                    self.put(found)
                    self._dismiss()
                    if action == "historySearch:execute":
                        return self._submit()
            case _ if str(key) in ("backspace", "ctrl+h"):
                search.backspace()
            case _ if str(key) in ("up", "ctrl+p"):
                search.previous()
            case _ if str(key) in ("down", "ctrl+n"):
                search.next()
            case _ if key.text:
                search.type(key.text)
            case _:
                pass
        return None


def _with_rows(look: PromptStyle, most: int, ghost: str) -> PromptStyle:
    return replace(look, most_rows=min(look.most_rows, most), ghost=look.ghost or ghost)
