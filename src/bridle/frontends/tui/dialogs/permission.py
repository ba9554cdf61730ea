"""May this call run? Once, for the session, always, differently, or not at all."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from bridle.engine.texts import CALL_REFUSED, CALL_REFUSED_BECAUSE
from bridle.frontends.tui.dialogs.call_preview import CallPreview
from bridle.frontends.tui.dialogs.menu import Choice, Menu
from bridle.frontends.tui.dialogs.panel import Panel
from bridle.frontends.tui.dialogs.workflow import script_lines
from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.keymap.labels import EDIT, EXPLAIN, REFUSE, BoundKey, Hint, sentences
from bridle.frontends.tui.render.call import short_path
from bridle.frontends.tui.render.layout import MUTED, count, one_line, paragraph, style
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style.sanitize import reveal
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.permissions.rules import from_value, parse, split_rules, write
from bridle.types.permission import Effect, Rule
from bridle.types.question import Permitted, Refused

_MOST_SAID = 10_000

Destination = Literal["localSettings", "projectSettings", "userSettings", "session"]
_PLACES: Mapping[Destination, str] = {
    "localSettings": ".claude/settings.local.json",
    "projectSettings": ".claude/settings.json (shared with the project)",
    "userSettings": "~/.claude/settings.json (all projects)",
    "session": "this session only",
}
_DESTINATIONS = tuple(_PLACES)
_SESSION = "session:"
"""What the value of a choice begins with that holds for the session."""
_READ_ONLY = ":read-only"
_SELF_EXPLAINED = ("EnterPlanMode", "Workflow")
"""Their reason says again what is shown."""
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
        self._place_key = "tab"
        self._session = _session_grants(self._question.suggestions)
        self._lasting = _rules(self._question.lasting or _only_rules(self._question.suggestions))
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
        self._place_key = _NEXT_FIELD.name(keys, self.contexts)
        if self.panel.menu.is_unopened:
            hints[0] = ("enter", "to edit")
        said = sentences(hints, keys, self.contexts)
        return self.panel.render(width, height, said, self._notes(width))

    def press(self, key: Key, action: str | None, /) -> Closed[Reply] | None:
        self._problem = ""
        menu, name = self.panel.menu, str(key)
        if self.panel.scroll(key):
            return None
        if name in ("escape", "ctrl+c") or action == "confirm:no":
            return Closed(Refused(message=CALL_REFUSED, interrupt=True, stands=True))
        if action == "confirm:yes" and name != "enter":
            return self._reply(menu.choices[0], "")
        if action in EXPLAIN.actions or (menu.is_typing and name == "ctrl+e"):
            self._explains = self._explainable and not self._explains
        elif action == "permission:toggleDebug":
            self._shows_raw = not self._shows_raw
        elif self._question.input and (action in EDIT.actions or (menu.is_typing and name == "ctrl+g")):
            return Closed(EditOutside())
        elif name == "tab" or action == "confirm:nextField":
            self._next_place()
        elif action == "confirm:cycleMode" and (session := self._choice(f"{_SESSION}0")) is not None:
            return self._reply(session, "")
        elif name == "enter" and not menu.is_unopened and menu.is_unchanged:
            self._problem = "edit the command first, or choose 1"
        elif (chosen := menu.press(key, action)) is not None:
            return self._reply(chosen, menu.text)
        return None

    def paste(self, text: str, /) -> None:
        self.panel.menu.paste(text)

    def _choices(self) -> list[Choice]:
        question = self._question
        choices = [Choice(value="once", label="Yes"), *self._grants()]
        if question.tool == "Workflow" and self._subject.script is not None:
            choices.append(Choice(value="read", label="Show the full script", note="or close it again"))
        command = str(question.input.get("command", "")) if question.tool == "Bash" else ""
        # A field shows its text as it is, so that nothing invisible may be in it.
        if command and reveal(command) == command:
            choices.append(
                Choice(
                    value="edit",
                    label="Edit the command…",
                    field="a command",
                    text=command,
                    needs_text=True,
                    needs_change=True,
                )
            )
        elif question.input:
            choices.append(Choice(value="outside", label="Edit in $EDITOR…"))
        choices.append(
            Choice(
                value="no",
                label="No, and tell bridle what to do instead",
                field="what to do instead, or nothing to stop here",
            )
        )
        return choices

    def _grants(self) -> list[Choice]:
        """What can be allowed for longer: one thing with each choice."""
        grants = [
            Choice(value=f"{_SESSION}{at}", label=f"Yes, and {words} this session")
            for at, (words, _) in enumerate(self._session)
        ]
        if not self._lasting:
            return grants
        if all(map(_reads_only, self._lasting)):
            label = f"Yes, and don't ask again for {_readable(self._lasting)}"
            return [*grants, Choice(value="always", label=label)]
        written = ", ".join(map(write, self._lasting))
        if "\\" in written or reveal(written) != written:
            # A field would show the rule as it is escaped in a file.
            label = f"Yes, and always allow {_readable(self._lasting)}"
            return [*grants, Choice(value="always", label=label)]
        always = Choice(
            value="always",
            label="Yes, and always allow",
            field="a rule",
            text=written,
            previewed=True,
            needs_text=True,
        )
        return [*grants, always]

    def _choice(self, value: str) -> Choice | None:
        return next((each for each in self.panel.menu.choices if each.value == value), None)

    def _reply(self, chosen: Choice, text: str) -> Closed[Reply] | None:
        match chosen.value:
            case "once":
                return Closed(Permitted())
            case str(value) if value.startswith(_SESSION):
                _, updates = self._session[int(value.removeprefix(_SESSION))]
                return Closed(Permitted(updates=updates))
            case "always":
                return self._always(text)
            case "edit":
                changed = {**self._question.input, "command": text}
                return Closed(Permitted(input=changed, edited=True))
            case "outside":
                return Closed(EditOutside())
            case "read":
                self._reads_script = not self._reads_script
                return None
            case _:
                said = text.strip()[:_MOST_SAID]
                if not said:
                    return Closed(Refused(message=CALL_REFUSED, interrupt=True, stands=True))
                return Closed(Refused(message=f"{CALL_REFUSED_BECAUSE}{said}", stands=True))

    def _always(self, text: str) -> Closed[Reply] | None:
        try:
            rules = [parse(each, Effect.ALLOW) for each in split_rules(text)] if text else self._lasting
        except ValueError as error:
            self._problem = f"can't save this rule: {error}"
            return None
        values = [
            {"toolName": rule.tool}
            if rule.content is None
            else {"toolName": rule.tool, "ruleContent": rule.content}
            for rule in rules
        ]
        kept = {"type": "addRules", "rules": values, "behavior": "allow", "destination": self._to}
        return Closed(Permitted(updates=(kept,)))

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
        elif self._question.tool not in _SELF_EXPLAINED:
            rows += paragraph(_as_clause(self._question.reason), width, MUTED)
        return rows

    def _shown(self, width: int) -> list[Line]:
        if self._reads_script and (script := self._subject.script) is not None:
            return script_lines(script, width)
        return self._subject.lines(width)

    def _notes(self, width: int) -> list[Line]:
        """Where a rule is kept, and what is wrong with it."""
        rows: list[Line] = []
        if self._question.elsewhere:
            also = f"also shown in {one_line(self._question.elsewhere)}"
            rows += [(), *paragraph(also, width, style("info"))]
        if self.panel.menu.current.value == "always":
            where = f"save to {_PLACES[self._to]} · {self._place_key}: change location"
            rows += [(), *paragraph(where, width, style("info"))]
        if self._problem:
            rows += paragraph(self._problem, width, style("error"))
        return rows

    def _raw(self, width: int) -> list[Line]:
        import json

        # In ASCII alone: nothing in it can look like something else.
        return paragraph(json.dumps(dict(self._question.input), indent=2), width)

    def _explanation(self, width: int) -> list[Line]:
        question = self._question
        rows = paragraph(_as_clause(question.reason), width)
        if question.blocked_path:
            rows += paragraph(f"path: {question.blocked_path}", width, MUTED)
        for part in question.parts:
            color = {"allow": "success", "ask": "warning", "deny": "error"}[part.decision]
            head: Line = (Span(f"{part.decision:<5} ", style(color)), Span(one_line(part.command)))
            rows += [head, *paragraph(f"      {part.reason}", width, MUTED)]
        if question.suggestions:
            needed = " and ".join(dict.fromkeys(map(_needed, question.suggestions)))
            rows += paragraph(f"would be allowed by: {needed}", width, MUTED)
        return rows


def _rules(updates: Iterable[Mapping[str, Any]]) -> list[Rule]:
    """The rules that updates would add."""
    return [
        from_value(each, Effect.ALLOW, "session")
        for update in updates
        if update.get("type") == "addRules"
        for each in update.get("rules") or ()
    ]


def _only_rules(suggestions: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The suggestions, where nothing but rules is in them."""
    return suggestions if all(each.get("type") == "addRules" for each in suggestions) else ()


def _session_grants(
    suggestions: Sequence[Mapping[str, Any]],
) -> list[tuple[str, tuple[Mapping[str, Any], ...]]]:
    """What can be allowed for the rest of the session, each with its words."""
    grants: list[tuple[str, tuple[Mapping[str, Any], ...]]] = []
    rules = tuple(each for each in suggestions if each.get("type") == "addRules")
    for update in suggestions:
        held = {**update, "destination": "session"}
        match update:
            case {"type": "addRules"}:
                continue
            case {"type": "setMode", "mode": "acceptEdits"}:
                words = "accept all edits"
            case {"type": "setMode", "mode": str(mode)}:
                words = f"switch to {mode} mode"
            case {"type": "addDirectories", "directories": [*folders]}:
                words = f"work in {', '.join(short_path(one_line(str(each)), '') for each in folders)}"
            case _:
                words = "don't ask again"
        grants.append((words, (held,)))
    if rules:
        held_rules = tuple({**each, "destination": "session"} for each in rules)
        grants.append((f"allow {_readable(_rules(rules))}", held_rules))
    return grants


def _readable(rules: Sequence[Rule]) -> str:
    """Rules as people say them: nothing escaped, and the command that is shown above not once more."""
    if all(map(_reads_only, rules)):
        programs = " and ".join(str(rule.content).removesuffix(_READ_ONLY) for rule in rules)
        return f"read-only {programs} commands"
    exact = [rule for rule in rules if rule.tool == "Bash" and not _is_prefix(rule)]
    if len(exact) == len(rules):
        return "this exact command" if len(rules) == 1 else "these exact commands"
    named = reveal(one_line(", ".join(write(rule) for rule in rules if rule not in exact)))
    return f"{named} and the rest exactly as shown" if exact else named


def _is_prefix(rule: Rule) -> bool:
    content = rule.content
    if content is None or content.endswith(_READ_ONLY):
        return True
    return content.endswith("*") and not content.endswith("\\*")


def _reads_only(rule: Rule) -> bool:
    """Whether a rule is for all uses of a program that only read."""
    return rule.tool == "Bash" and rule.content is not None and rule.content.endswith(_READ_ONLY)


def _needed(update: Mapping[str, Any]) -> str:
    """What an update does, in a few words."""
    match update:
        case {"type": "addRules"}:
            return ", ".join(reveal(one_line(_unescaped(rule))) for rule in _rules([update]))
        case {"type": "addDirectories", "directories": [*folders]}:
            return f"working in {', '.join(short_path(one_line(str(each)), '') for each in folders)}"
        case {"type": "setMode", "mode": "acceptEdits"}:
            return "accepting all edits"
        case {"type": "setMode", "mode": str(mode)}:
            return f"{mode} mode"
        case _:
            return "another rule"


def _unescaped(rule: Rule) -> str:
    return rule.tool if rule.content is None else f"{rule.tool}({rule.content})".replace("\\*", "*")


def _as_clause(reason: str) -> str:
    text = one_line(reason).rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
