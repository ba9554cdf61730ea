"""Dictation of one session: its recordings, and what becomes of them."""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from bridle.config.schema import BridleVoice
from bridle.features.voice.endpoint import transcribe_at
from bridle.features.voice.engines import choose_engine, transcribe
from bridle.features.voice.microphone import Microphone
from bridle.types.visible import HIDDEN

_LONGEST_TEXT = 20_000


class SpokenText(Struct, frozen=True, kw_only=True):
    """A recording that becomes text when it is finished."""

    microphone: Microphone
    engine: str
    settings: BridleVoice
    env: Mapping[str, str]

    @property
    def seconds(self) -> float:
        return self.microphone.seconds

    async def finish(self) -> str:
        sound = await self.microphone.stop()
        model, language = self.settings.model or "", self.settings.language or ""
        if self.engine == "endpoint":
            text = await transcribe_at(
                self.settings.endpoint or "", sound, model=model, language=language, env=self.env
            )
        else:
            text = await transcribe(self.engine, sound, model=model, language=language, env=self.env)
        return plain_text(text)

    async def discard(self) -> None:
        await self.microphone.discard()


async def record(settings: BridleVoice, env: Mapping[str, str], changed: Callable[[], None]) -> SpokenText:
    """Begin to listen; that there is an engine is checked first.

    Raises:
        UsageError: there is no engine or no microphone.
    """
    engine = choose_engine(settings.engine, model=settings.model, endpoint=settings.endpoint)
    microphone = await Microphone.open(settings.recorder or (), env, changed)
    return SpokenText(microphone=microphone, engine=engine, settings=settings, env=env)


def plain_text(text: str) -> str:
    """One line without what steers a terminal: an engine or an endpoint decides what arrives here."""
    return " ".join(re.sub(f"[{HIDDEN}]", "", text).split())[:_LONGEST_TEXT]
