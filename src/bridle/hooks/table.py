"""All hooks of a session: where each was written, and whether it counts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.config.hook_schema import HookGroup, HookTable, Seconds
from bridle.config.problems import KeyPath, Problem, dotted, line_numbers
from bridle.config.sources import SHARED, Layer
from bridle.config.validate import validate
from bridle.hooks.handler import AnyHook, CallbackHook, FunctionHook, Kind, Origin, kind_of
from bridle.hooks.matching import Matcher, read_matcher
from bridle.types.hooks.calls import ToolEvent
from bridle.types.hooks.events import EVENTS

_HOSTS = ("callback", "function")
_KINDS_TAKEN: dict[str, tuple[Kind, ...]] = {
    "SessionStart": ("command", "mcp_tool", *_HOSTS),
    "Setup": ("command", *_HOSTS),
    "PermissionRequest": ("command", "http", "mcp_tool", "prompt", *_HOSTS),
}
"""Events that do not take every kind of hook."""


class Entry(Struct, frozen=True, kw_only=True):
    """One hook as it is configured."""

    event: str
    matcher_text: str | None = None
    matcher: Matcher
    hook: AnyHook
    origin: Origin
    scope: str | None = None
    """The id of the only agent whose events it gets; None for all."""

    @property
    def kind(self) -> Kind:
        return kind_of(self.hook)

    @property
    def once(self) -> bool:
        """Whether it is gone after its first call, which only skills can ask for."""
        return self.origin.source == "skill" and bool(self.hook.once)


Disabled = Literal["no", "by people", "by management"]


class Policy(Struct, frozen=True, kw_only=True):
    """Which hooks may run."""

    trusted: bool = True
    """Whether the folder's own hooks may run."""
    disabled: Disabled = "no"
    managed_only: bool = False
    plugins_only: bool = False
    """Settings of people and skills of theirs bring no hooks; plugins and management do."""

    def objection(self, entry: Entry) -> str | None:
        """Why a hook does not count."""
        return self._objection_to_origin(entry.origin) or _objection_to_shape(entry)

    def _objection_to_origin(self, origin: Origin) -> str | None:
        source = origin.source
        if source == "session":
            return None
        if (origin.shared or source in SHARED) and not self.trusted:
            return "this folder is not trusted yet"
        if self.disabled == "by management" or (self.disabled == "by people" and source != "policySettings"):
            return "disableAllHooks is set"
        if self.managed_only and source != "policySettings":
            return "managed settings allow only their own hooks"
        if self.plugins_only and source not in ("policySettings", "plugin"):
            return "managed settings allow only hooks of plugins"
        return None


class Table(Struct, frozen=True, kw_only=True):
    """Every configured hook, those that do not count included."""

    entries: tuple[Entry, ...] = ()
    policy: Policy = Policy()
    problems: tuple[Problem, ...] = ()
    """What cannot be used as it is written; the rest still works."""

    def counting(self, extra: Iterable[Entry] = ()) -> dict[str, tuple[Entry, ...]]:
        """The hooks that count, by event, in the order in which they are listed."""
        found: dict[str, list[Entry]] = {}
        for entry in (*self.entries, *extra):
            if self.policy.objection(entry) is None:
                found.setdefault(entry.event, []).append(entry)
        return {event: tuple(entries) for event, entries in found.items()}


def from_layers(layers: Sequence[Layer], *, trusted: bool, plugins: Sequence[Table] = ()) -> Table:
    """The hooks of all settings files and plugins, lowest file first, plugins last.

    The layers were checked when the settings were loaded, and their problems were reported then.
    """
    entries: list[Entry] = []
    problems: list[Problem] = []
    for layer in layers:
        if "hooks" in layer.values:
            entries = _without_cleared(entries, layer)
            part = _read(
                layer.values["hooks"] or {}, Origin(source=layer.source, file=layer.path), layer.text
            )
            entries += part.entries
            problems += part.problems
    for part in plugins:
        entries += part.entries
        problems += part.problems
    return Table(entries=tuple(entries), policy=_policy(layers, trusted=trusted), problems=tuple(problems))


def from_values(hooks: object, origin: Origin, *, text: str = "", scope: str | None = None) -> Table:
    """The hooks of a plugin or of frontmatter, checked; `text` is the JSON file around them, if there is one.

    For an agent, its stop is the stop of a subagent, and `scope` its id.
    """
    values, problems = validate({"hooks": hooks}, file=origin.file, text=text)
    table = _read(values.get("hooks") or {}, origin, text, scope=scope)
    return Table(entries=table.entries, problems=(*problems, *table.problems))


def from_host(event: str, hook: CallbackHook | FunctionHook, *, matcher: str | None = None) -> Entry:
    """A hook that the program around the session brings along."""
    return Entry(
        event=event,
        matcher_text=matcher,
        matcher=read_matcher(matcher, event),
        hook=hook,
        origin=Origin(source="session"),
    )


def from_host_request(hooks: Mapping[str, Any]) -> tuple[list[Entry], list[str]]:
    """The callbacks that a host names when it introduces itself, and what is wrong with the rest.

    `{Event: [{matcher, hookCallbackIds, timeout, onFailure}]}`; a null anywhere says nothing.
    """
    entries: list[Entry] = []
    problems: list[str] = []
    for event, groups in hooks.items():
        if event not in EVENTS:
            problems.append(f"Ignored the host's hooks for {event}: unknown event.")
        for index, group in enumerate(groups if isinstance(groups, list) else ()):
            try:
                entries += _of_host_group(event, msgspec.convert(group, _HostGroup))
            except msgspec.ValidationError as error:
                problems.append(f"Ignored the host's hook {event}[{index}]: {error}.")
    problems += [
        f"The host's hook for {entry.event} matches nothing: {entry.matcher.error}."
        for entry in entries
        if entry.matcher.error is not None
    ]
    return entries, problems


class _HostGroup(Struct, frozen=True, kw_only=True, rename="camel"):
    matcher: str | None = None
    hook_callback_ids: tuple[str, ...] | None = None
    timeout: Seconds | None = None
    on_failure: str | None = None


def _of_host_group(event: str, group: _HostGroup) -> list[Entry]:
    return [
        from_host(
            event,
            CallbackHook(callback_id=callback_id, timeout=group.timeout, on_failure=group.on_failure),
            matcher=group.matcher,
        )
        for callback_id in group.hook_callback_ids or ()
    ]


def choose(entries: Sequence[Entry], subject: str | None, agent_id: str | None) -> list[Entry]:
    """Those whose matcher speaks of the event, identical ones once."""
    chosen: list[Entry] = []
    for entry in entries:
        if entry.scope not in (None, agent_id) or not entry.matcher.matches(subject):
            continue
        if entry.kind in _HOSTS or not any(_is_same(entry, other) for other in chosen):
            chosen.append(entry)
    return chosen


class Listeners:
    """The hooks that count now: the configured ones, and those that came with the session.

    Settings may be replaced at any time; what was added stays until it is removed.
    """

    def __init__(self, table: Table | None = None) -> None:
        self.table = table or Table()
        self._added: list[Entry] = []
        self._counting = self.table.counting()

    def of(self, event: str) -> tuple[Entry, ...]:
        return self._counting.get(event, ())

    def every(self) -> tuple[Entry, ...]:
        """All hooks, those that do not count included."""
        return (*self.table.entries, *self._added)

    def replace(self, table: Table) -> None:
        """Use another table from the next event on."""
        self.table = table
        self._count()

    def add(self, entries: Iterable[Entry]) -> Callable[[], None]:
        """Let more hooks listen; the function that is returned takes them away again."""
        entries = tuple(entries)
        self._added += entries
        self._count()

        def take_away() -> None:
            for entry in entries:
                self.remove(entry)

        return take_away

    def remove(self, entry: Entry) -> None:
        """Take one added hook away; one that is gone already stays gone."""
        self._added = [other for other in self._added if other is not entry]
        self._count()

    def _count(self) -> None:
        self._counting = self.table.counting(self._added)


def _read(values: Mapping[str, Any], origin: Origin, text: str, *, scope: str | None = None) -> Table:
    events = {event: groups for event, groups in values.items() if groups is not None}
    lines = line_numbers(text) if text else {}
    entries: list[Entry] = []
    problems: list[Problem] = []
    for event, groups in msgspec.convert(events, HookTable).items():
        renamed = "SubagentStop" if origin.source == "agent" and event == "Stop" else event
        for index, group in enumerate(groups):
            path: KeyPath = ("hooks", event, index)
            found = _of_group(renamed, group, origin, path, lines, scope=scope)
            entries += found
            problems += _shape_problems(found, path, lines)
    return Table(entries=tuple(entries), problems=tuple(problems))


def _of_group(
    event: str,
    group: HookGroup,
    origin: Origin,
    path: KeyPath,
    lines: Mapping[KeyPath, int],
    *,
    scope: str | None,
) -> list[Entry]:
    matcher = read_matcher(group.matcher, event)
    places: list[KeyPath] = [(*path, "hooks", number) for number in range(len(group.hooks))]
    return [
        Entry(
            event=event,
            matcher_text=group.matcher,
            matcher=matcher,
            hook=hook,
            origin=msgspec.structs.replace(origin, key=dotted(place), line=lines.get(place)),
            scope=scope,
        )
        for place, hook in zip(places, group.hooks, strict=True)
    ]


def _shape_problems(entries: list[Entry], group: KeyPath, lines: Mapping[KeyPath, int]) -> list[Problem]:
    """Why hooks of one group never run, a bad matcher once for all of them."""
    if entries and (error := entries[0].matcher.error) is not None:
        place: KeyPath = (*group, "matcher")
        message = f"the matcher matches nothing: {error}"
        return [
            Problem(file=entries[0].origin.file, key=dotted(place), line=lines.get(place), message=message)
        ]
    return [
        Problem(
            file=entry.origin.file,
            key=entry.origin.key,
            line=entry.origin.line,
            message=f"the hook never runs: {why}",
        )
        for entry in entries
        if (why := _objection_to_shape(entry)) is not None
    ]


def _without_cleared(entries: list[Entry], layer: Layer) -> list[Entry]:
    """A null in the flag settings takes back what the files below it say."""
    if layer.source != "flagSettings":
        return entries
    hooks: dict[str, Any] | None = layer.values["hooks"]
    if hooks is None:
        return []
    return [entry for entry in entries if hooks.get(entry.event, ()) is not None]


def _policy(layers: Sequence[Layer], *, trusted: bool) -> Policy:
    disabled: Disabled = "no"
    managed: dict[str, Any] = {}
    for layer in layers:
        if layer.source in SHARED and not trusted:
            # A stranger's folder must not switch off the hooks that guard against it.
            continue
        if layer.source == "policySettings":
            managed |= {key: value for key, value in layer.values.items() if value is not None}
        elif "disableAllHooks" in layer.values:
            disabled = _switched(layer, before=disabled)
    if "disableAllHooks" in managed:
        disabled = "by management" if managed["disableAllHooks"] else "no"
    locked = managed.get("strictPluginOnlyCustomization")
    return Policy(
        trusted=trusted,
        disabled=disabled,
        managed_only=managed.get("allowManagedHooksOnly") is True,
        plugins_only=locked is True or (isinstance(locked, list) and "hooks" in locked),
    )


def _switched(layer: Layer, *, before: Disabled) -> Disabled:
    match layer.values["disableAllHooks"]:
        case None:
            return "no" if layer.source == "flagSettings" else before
        case value:
            return "by people" if value else "no"


def _objection_to_shape(entry: Entry) -> str | None:
    if (event := EVENTS.get(entry.event)) is None:
        return f"unknown event {entry.event}"
    if entry.matcher.error is not None:
        return entry.matcher.error
    if entry.kind not in _KINDS_TAKEN.get(entry.event, (entry.kind,)):
        return f"{entry.event} does not support {entry.kind} hooks"
    if entry.hook.condition is not None and not issubclass(event, ToolEvent):
        return f"`if` needs a tool call, and {entry.event} has none"
    return None


def _is_same(one: Entry, other: Entry) -> bool:
    return one.hook == other.hook and one.origin.owner == other.origin.owner
