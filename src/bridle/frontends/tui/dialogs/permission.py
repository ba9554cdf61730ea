"""May this call run? Once, for the session, always, differently, or not at all."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from bridle.frontends.tui.dialogs.call_preview import CallPreview
from bridle.frontends.tui.dialogs.menu import Choice, Menu
from bridle.frontends.tui.dialogs.panel import Panel
from bridle.frontends.tui.dialogs.workflow import script_lines
from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import EDIT, EXPLAIN, REFUSE, BoundKey, Hint, sentences
from bridle.frontends.tui.render.layout import MUTED, count, one_line, paragraph, style
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style.sanitize import reveal
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.permissions.rules import from_value, parse, split_rules, write
from bridle.types.permission import Effect
from bridle.types.question import Permitted, Refused

NO = "The user does not want this call to run. Stop here and wait for what they say next."
_NO_BECAUSE = "The user did not let this call run and said: {said}"
_MOST_SAID = 10_000

Destination = Literal["localSettings", "projectSettings", "userSettings", "session"]
_PLACES: Mapping[Destination, str] = {
    "localSettings": "for me in this project (.claude/settings.local.json)",
    "projectSettings": "for everyone in this project (.claude/settings.json)",
    "userSettings": "for me in every project (~/.claude/settings.json)",
    "session": "in this session",
}
_DESTINATIONS = tuple(_PLACES)
_NEXT_FIELD = BoundKey(("confirm:nextField",), always="tab")


class EditOutside(Struct, frozen=True):
    """The user wants to change the input in an editor of their own, then be asked again."""


Reply = Permitted | Refused | EditOutside


class PermissionDialog:
    """Shows exactly what would run; nothing but a choice made here lets it."""

    is_full = False
    refresh = None

    def __init__(self, subject: CallPreview, *, waiting: int = 0, explainable: bool = True) -> None:
        """`waiting` is how many more questions there are; `explainable` has a key for the reasons."""
        self._explainable = explainable
        self._subject = subject
        self._question = subject.question
        self._explains = self._shows_raw = self._reads_script = False
        self._to: Destination = "localSettings"
        self._problem = ""
        more = f" ({count(waiting, 'more question')})" if waiting else ""
        self.panel = Panel(f"{subject.title}?{more}", self._body, Menu(self._choices()))

    @property
    def contexts(self) -> tuple[str, ...]:
        return () if self.panel.menu.is_typing else ("Confirmation",)

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        hints: list[Hint] = [
            ("enter", "to choose"),
            (REFUSE, "for no"),
        ]
        if self._explainable:
            hints.append((EXPLAIN, "less" if self._explains else "why"))
        if self.panel.menu.current.value == "always":
            hints.insert(1, (_NEXT_FIELD, "for where it is kept"))
        said = sentences(hints, keys, self.contexts)
        return self.panel.render(width, height, said, self._notes(width))

    def press(self, key: Key, action: str | None, /) -> Closed[Reply] | None:
        self._problem = ""
        menu, name = self.panel.menu, str(key)
        if self.panel.scroll(key):
            return None
        if name in ("escape", "ctrl+c") or action == "confirm:no":
            return Closed(Refused(message=NO, interrupt=True))
        if action == "confirm:yes" and name != "enter":
            return self._reply(menu.choices[0], "")
        if action in EXPLAIN.actions or (menu.is_typing and name == "ctrl+e"):
            self._explains = self._explainable and not self._explains
        elif action == "permission:toggleDebug":
            self._shows_raw = not self._shows_raw
        elif action in EDIT.actions or (menu.is_typing and name == "ctrl+g"):
            return Closed(EditOutside())
        elif name == "tab" or action == "confirm:nextField":
            self._next_place()
        elif action == "confirm:cycleMode" and (session := self._choice("session")) is not None:
            return self._reply(session, "")
        elif (chosen := menu.press(key, action)) is not None:
            return self._reply(chosen, menu.text)
        return None

    def paste(self, text: str, /) -> None:
        self.panel.menu.paste(text)

    def _choices(self) -> list[Choice]:
        question = self._question
        choices = [Choice(value="once", label="Yes, this once")]
        if question.suggestions:
            what = "; ".join(map(_described, question.suggestions))
            choices.append(Choice(value="session", label=f"Yes, and in this session {what}"))
        rules = ", ".join(_rules(question.suggestions))
        command = str(question.input.get("command", "")) if question.tool == "Bash" else ""
        # A field shows its text as it is, so that nothing invisible may be in it.
        if rules and reveal(rules) == rules:
            choices.append(
                Choice(
                    value="always",
                    label="Yes, always allow",
                    field="a rule",
                    text=rules,
                    previewed=True,
                    needs_text=True,
                )
            )
        if question.tool == "Workflow" and self._subject.script is not None:
            choices.append(Choice(value="read", label="Read the whole script", note="or close it again"))
        if command and reveal(command) == command:
            choices.append(
                Choice(
                    value="edit",
                    label="Run another command",
                    field="a command",
                    text=command,
                    needs_text=True,
                )
            )
        else:
            what = "script" if isinstance(question.input.get("script"), str) else "input"
            choices.append(Choice(value="outside", label=f"Change the {what} in my editor first"))
        choices.append(
            Choice(value="no", label="No", note="or say what to do instead", field="say what to do instead")
        )
        return choices

    def _choice(self, value: str) -> Choice | None:
        return next((each for each in self.panel.menu.choices if each.value == value), None)

    def _reply(self, chosen: Choice, text: str) -> Closed[Reply] | None:
        match chosen.value:
            case "once":
                return Closed(Permitted())
            case "session":
                updates = [{**each, "destination": "session"} for each in self._question.suggestions]
                return Closed(Permitted(updates=tuple(updates)))
            case "always":
                return self._always(text)
            case "edit":
                command = str(self._question.input.get("command", ""))
                if text == command:
                    return Closed(Permitted())
                return Closed(Permitted(input={**self._question.input, "command": text}))
            case "outside":
                return Closed(EditOutside())
            case "read":
                self._reads_script = not self._reads_script
                return None
            case _:
                said = text.strip()[:_MOST_SAID]
                if not said:
                    return Closed(Refused(message=NO, interrupt=True))
                return Closed(Refused(message=_NO_BECAUSE.format(said=said)))

    def _always(self, text: str) -> Closed[Reply] | None:
        try:
            rules = [parse(each, Effect.ALLOW) for each in split_rules(text)]
        except ValueError as error:
            self._problem = f"not a rule that can be kept: {error}"
            return None
        values = [
            {"toolName": rule.tool}
            if rule.content is None
            else {"toolName": rule.tool, "ruleContent": rule.content}
            for rule in rules
        ]
        kept = {"type": "addRules", "rules": values, "behavior": "allow", "destination": self._to}
        others = [each for each in self._question.suggestions if each.get("type") != "addRules"]
        return Closed(Permitted(updates=(kept, *others)))

    def _next_place(self) -> None:
        menu = self.panel.menu
        if menu.current.value == "always":
            self._to = _DESTINATIONS[(_DESTINATIONS.index(self._to) + 1) % len(_DESTINATIONS)]
        else:
            menu.at = (menu.at + 1) % len(menu.choices)

    def _body(self, width: int) -> list[Line]:
        rows = self._raw(width) if self._shows_raw else self._shown(width)
        if self._explains:
            rows += [(), *self._explanation(width)]
        elif self._question.tool != "Workflow":  # Its reason says again what is shown.
            rows += paragraph(f"asked because {_as_clause(self._question.reason)}", width, MUTED)
        return rows

    def _shown(self, width: int) -> list[Line]:
        if self._reads_script and (script := self._subject.script) is not None:
            return script_lines(script, width)
        return self._subject.lines(width)

    def _notes(self, width: int) -> list[Line]:
        """Where a rule is kept, and what is wrong with it."""
        rows: list[Line] = []
        if self._question.elsewhere:
            also = f"also open in {one_line(self._question.elsewhere)}: answer here or there"
            rows += [(), *paragraph(also, width, style("info"))]
        if self.panel.menu.current.value == "always":
            rows += [(), *paragraph(f"kept {_PLACES[self._to]}", width, style("info"))]
        if self._problem:
            rows += paragraph(self._problem, width, style("error"))
        return rows

    def _raw(self, width: int) -> list[Line]:
        import json

        # In ASCII alone: nothing in it can look like something else.
        return paragraph(json.dumps(dict(self._question.input), indent=2), width)

    def _explanation(self, width: int) -> list[Line]:
        question = self._question
        rows = paragraph(f"why: {question.reason}", width)
        rows += paragraph(f"kind of reason: {question.reason_type}", width, MUTED)
        if question.blocked_path:
            rows += paragraph(f"path: {question.blocked_path}", width, MUTED)
        for part in question.parts:
            color = {"allow": "success", "ask": "warning", "deny": "error"}[part.decision]
            head: Line = (Span(f"{part.decision:<5} ", style(color)), Span(one_line(part.command)))
            rows += [head, *paragraph(f"      {part.reason}", width, MUTED)]
        for update in question.suggestions:
            rows += paragraph(f"would be enough: {_described(update)}", width, MUTED)
        return rows


def _rules(suggestions: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rules that would keep the question from being asked again, as they are written."""
    found: list[str] = []
    for update in suggestions:
        if update.get("type") == "addRules":
            found += (write(from_value(each, Effect.ALLOW, "session")) for each in update.get("rules") or ())
    return found


def _described(update: Mapping[str, Any]) -> str:
    """What an update does, in a few words."""
    match update:
        case {"type": "addRules"}:
            return f"allow {', '.join(_rules([update]))}"
        case {"type": "addDirectories", "directories": [*folders]}:
            return f"work in {', '.join(one_line(str(each)) for each in folders)}"
        case {"type": "setMode", "mode": "acceptEdits"}:
            return "accept all edits"
        case {"type": "setMode", "mode": str(mode)}:
            return f"switch to the mode {mode}"
        case _:
            return "do not ask again"


def _as_clause(reason: str) -> str:
    text = one_line(reason).rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
