"""Dictation as a feature: nothing of it is imported before the first recording."""

import os.path
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from bridle.config.schema import BridleVoice
from bridle.engine.feature import Feature
from bridle.features.context import CommandCaller, FeatureContext
from bridle.host.paths import config_home
from bridle.types.command import Command, CommandResult, Says
from bridle.types.errors import UsageError
from bridle.types.services.service import Service
from bridle.types.services.voice import VOICE, Recording, VoiceMode

if TYPE_CHECKING:
    from bridle.config.load import Config
    from bridle.engine.assignment import Assignment

_WORDS = ("hold", "tap", "off")


class VoiceFeature(Feature):
    """Implements `Voice`; agents have no microphone."""

    name = "voice"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._settings = context.settings
        self._chosen: VoiceMode | Literal["off"] | None = None
        """What the user has just chosen, until the settings say it."""

    def part(self, key: Service[Any]) -> Any:
        return self if key is VOICE else None

    def commands(self) -> Sequence[Command]:
        return (
            Command(
                name="voice",
                description="Dictate prompts: hold a key or tap it",
                run=self._run,
                argument_hint="[hold|tap|off]",
                complete=lambda typed: tuple(word for word in _WORDS if word.startswith(typed.lower())),
                at_once=True,
            ),
        )

    def reconfigure(self, before: "Config", now: "Config") -> None:
        self._settings = now.settings
        self._chosen = None

    def for_agent(self, work: "Assignment") -> None:
        return None

    @property
    def is_on(self) -> bool:
        if self._chosen is not None:
            return self._chosen != "off"
        voice, older = self._settings.voice, self._settings.voice_enabled
        chosen = None if voice is None else voice.enabled
        return bool(older if chosen is None else chosen)

    @property
    def mode(self) -> VoiceMode:
        if self._chosen is not None and self._chosen != "off":
            return self._chosen
        voice = self._settings.voice
        return "hold" if voice is None or voice.mode is None else voice.mode

    @property
    def submits(self) -> bool:
        voice = self._settings.voice
        return voice is not None and voice.auto_submit is True

    async def record(self, changed: Callable[[], None]) -> Recording:
        from bridle.features.voice.session import record

        return await record(self._settings.bridle_voice or BridleVoice(), self._context.env, changed)

    async def _run(self, arguments: str, caller: CommandCaller) -> CommandResult:
        """Turn dictation on (`hold` or `tap` the key) or `off`, or say how it stands."""
        del caller
        if not self._context.interactive:
            raise UsageError("Dictation works only in a terminal.")
        match arguments.strip().lower():
            case "":
                pass
            case ("hold" | "tap" | "off") as wanted:
                self._save(wanted)
            case other:
                raise UsageError(f"Unknown mode {other!r}: hold, tap or off.")
        return Says(self._state())

    def _save(self, wanted: VoiceMode | Literal["off"]) -> None:
        from bridle.config.edit import set_value

        path = os.path.join(config_home(self._context.env), "settings.json")
        set_value(path, ("voice", "enabled"), wanted != "off", env=self._context.env)
        if wanted != "off":
            set_value(path, ("voice", "mode"), wanted, env=self._context.env)
        self._chosen = wanted

    def _state(self) -> str:
        if not self.is_on:
            return "Dictation is off. Turn it on with /voice hold or /voice tap."
        how = "Hold the key and speak" if self.mode == "hold" else "Tap the key, speak, and tap it again"
        return f"Dictation is on ({self.mode}). {how}; the text appears in the prompt.\n{self._engine()}"

    def _engine(self) -> str:
        from bridle.features.voice.engines import choose_engine

        settings = self._settings.bridle_voice or BridleVoice()
        try:
            engine = choose_engine(settings.engine, model=settings.model, endpoint=settings.endpoint)
        except UsageError as error:
            return str(error)
        return f"Engine: {settings.endpoint if engine == 'endpoint' else engine}."
