"""What an editor lets its user choose for a session: the mode, the model, the effort; and the commands."""

from collections.abc import Mapping
from typing import Any

from bridle.engine.model_switch import switch_model
from bridle.engine.permissions.grants import set_mode
from bridle.frontends.acp.content import Json
from bridle.permissions.auto.grants import mode_notice
from bridle.protocol.control_requests.initialize import listed_commands
from bridle.providers.model_listing import Choice, full_name, is_available, offers
from bridle.session.open import LiveSession
from bridle.types.errors import UsageError
from bridle.types.event import Noticed
from bridle.types.permission import MODES, Mode

_MODES: Mapping[str, tuple[str, str]] = {
    "default": ("Default", "Asks before edits and commands"),
    "acceptEdits": ("Accept edits", "Edits files of the project without asking"),
    "plan": ("Plan", "Reads and plans; changes nothing"),
    "auto": ("Auto", "A classifier decides what needs your approval"),
    "dontAsk": ("Don't ask", "Denies calls that no rule allows"),
    "bypassPermissions": (
        "Bypass permissions",
        "Never asks: only for containers and virtual machines without anything of value",
    ),
}
_USUAL_EFFORT = "default"
_MOST_MODELS = 60


class Choices:
    """The choices of one session, as they stand now."""

    def __init__(self, live: LiveSession) -> None:
        self._live = live
        setup = live.setup
        self._usual_effort = live.server.runtime.asking.effort
        self._model = ""
        """The model as it was chosen, perhaps by an alias."""
        self._choice = Choice(
            settings=setup.config.settings, own=setup.config.raw.get("bridleModels") or {}, env=setup.env
        )

    def modes(self) -> Json:
        """The modes that the session may be in."""
        available = [
            {"id": mode, "name": _MODES[mode][0], "description": _MODES[mode][1]} for mode in self._modes()
        ]
        return {"currentModeId": self._live.session.state.mode, "availableModes": available}

    def options(self) -> list[Json]:
        """Everything that can be chosen, each with its value."""
        options = [
            {
                "id": "mode",
                "name": "Mode",
                "description": "What needs your approval",
                "category": "mode",
                "type": "select",
                "currentValue": self._live.session.state.mode,
                "options": [
                    {"value": mode, "name": _MODES[mode][0], "description": _MODES[mode][1]}
                    for mode in self._modes()
                ],
            },
            self._models(),
        ]
        if (efforts := self._efforts()) is not None:
            options.append(efforts)
        return options

    def commands(self) -> list[Json]:
        """The slash commands."""
        listed = listed_commands(self._live.server.runtime.commands)
        return [_command(each) for each in listed]

    def set_mode(self, wanted: object) -> None:
        """Decide calls by another mode from now on.

        Raises:
            UsageError: the session may not be in this mode.
        """
        mode: Mode | None = next((each for each in MODES if each == wanted), None)
        if mode is None or mode not in self._modes():
            raise UsageError(
                f"Unknown mode {str(wanted)[:80]!r} here: use one of {', '.join(self._modes())}."
            )
        session, runtime = self._live.session, self._live.server.runtime
        if (notice := mode_notice(session.state.mode, mode, session.state.rules)) is not None:
            runtime.channel.emit(Noticed(notice, "warning"))
        set_mode(session, runtime, mode)

    async def set_option(self, name: object, value: object) -> None:
        """Choose a value.

        Raises:
            UsageError: there is no such option, or no such value.
        """
        match name:
            case "mode":
                self.set_mode(value)
            case "model":
                await self._set_model(value)
            case "effort":
                self._set_effort(value)
            case _:
                raise UsageError(f"Unknown option {str(name)[:80]!r}: use mode, model or effort.")

    async def _set_model(self, value: object) -> None:
        if not isinstance(value, str) or not value.strip():
            raise UsageError("The model must be a name.")
        if not is_available(value, self._choice):
            raise UsageError(f"The model {value[:80]} is not in availableModels.")
        await switch_model(self._live.session, self._live.server.runtime, full_name(value, self._choice))
        self._model = value

    def _set_effort(self, value: object) -> None:
        server = self._live.server
        usable = self._usable_efforts()
        if value not in (_USUAL_EFFORT, *usable):
            raise UsageError(f"Unknown effort {str(value)[:40]!r}: use one of {', '.join(usable)}.")
        effort = self._usual_effort if value == _USUAL_EFFORT else str(value)
        server.change(asking=server.runtime.asking.at_effort(effort))

    def _models(self) -> Json:
        current = self._live.session.state.model
        rows = [
            {"value": each.value, "name": each.label or each.value, "description": each.model}
            for each in offers(self._choice)[:_MOST_MODELS]
        ]
        named = (row["value"] for row in rows if row["description"] == current)
        is_chosen = bool(self._model) and full_name(self._model, self._choice) == current
        chosen = self._model if is_chosen else next(named, current)
        if all(row["value"] != chosen for row in rows):
            rows.insert(0, {"value": chosen, "name": chosen, "description": current})
        return {
            "id": "model",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": chosen,
            "options": rows,
        }

    def _efforts(self) -> Json | None:
        usable = self._usable_efforts()
        if not usable:
            return None
        effort = self._live.server.runtime.asking.effort
        values = (_USUAL_EFFORT, *usable)
        return {
            "id": "effort",
            "name": "Effort",
            "description": "How long the model thinks",
            "category": "thought_level",
            "type": "select",
            "currentValue": effort if effort in usable else _USUAL_EFFORT,
            "options": [{"value": each, "name": each.capitalize()} for each in values],
        }

    def _usable_efforts(self) -> tuple[str, ...]:
        return self._live.server.runtime.facts(self._live.session.state.model).efforts

    def _modes(self) -> tuple[Mode, ...]:
        live = self._live
        usable = (*live.server.runtime.gate.modes, live.session.state.mode)
        return tuple(mode for mode in MODES if mode in usable)


def _command(listed: Mapping[str, Any]) -> Json:
    command: Json = {"name": listed["name"], "description": listed["description"] or listed["name"]}
    if hint := listed.get("argumentHint"):
        command["input"] = {"hint": hint}
    return command
