"""Dictation at the prompt: a key begins and ends a recording, and its text is put in at the cursor."""

import asyncio
import re
from collections.abc import Callable

from bridle.frontends.tui.app import App
from bridle.frontends.tui.editing.input_area import InputArea
from bridle.frontends.tui.render import messages
from bridle.frontends.tui.render.layout import MUTED
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.types.errors import BridleError
from bridle.types.services.voice import Recording, Voice

_WARM = 5
"""How often a key that types must repeat before it counts as held."""
_WARM_GAP = 0.15
_FIRST_GAP = 1.2
"""Terminals repeat a key only after a while, and do not say when it is released."""
_GAP = 0.4
_DOES_MORE = re.compile(r"\A\s*[/!#&]|@")
"""What begins a command or names a file: that takes a key, because an engine or service chose the letters."""
_CANCELS = ("chat:cancel", "app:interrupt")


class Dictation:
    """Listens, writes down, or does neither."""

    def __init__(
        self, app: App, input: InputArea, voice: Voice, tell: Callable[[str, messages.Level], None]
    ) -> None:
        self._app, self._input, self._voice, self._tell = app, input, voice, tell
        self.submit: Callable[[], None] = lambda: None
        """Called after text was put in that the user wants to be sent."""
        self._recording: Recording | None = None
        self._is_starting = False
        self._is_writing = False
        self._release: asyncio.TimerHandle | None = None
        self._presses = 0
        self._last_press = 0.0

    @property
    def is_listening(self) -> bool:
        return self._recording is not None or self._is_starting

    def press(self, key: Key, *, is_mine: bool, action: str | None) -> bool:
        """Take a key; False when it is none of ours. `is_mine` is whether it is the key to talk."""
        if not self.is_listening:
            if is_mine and self._voice.is_on:
                return self._press_at_rest(key)
            self._presses = 0
            return False
        if action in _CANCELS:
            self._discard()
        elif is_mine and self._voice.mode == "hold":
            self._await_release(_GAP)
        else:
            self._finish()
        return True

    def rows(self) -> list[Line]:
        """How it stands, in a row."""
        if self._recording is not None:
            end = "release to finish" if self._voice.mode == "hold" else "tap again to finish"
            return [(Span(f"● listening {self._recording.seconds:.1f} s, {end}, esc to discard"),)]
        if self._is_starting:
            return [(Span("● starting the microphone", MUTED),)]
        return [(Span("transcribing…", MUTED),)] if self._is_writing else []

    def _press_at_rest(self, key: Key) -> bool:
        if self._is_writing:
            return not key.text
        now = asyncio.get_running_loop().time()
        self._presses = self._presses + 1 if now - self._last_press < _WARM_GAP else 1
        self._last_press = now
        if not key.text:
            self._start()
            return True
        # A key that types is typed, until it is clear that it is held; tapped it counts in an empty prompt.
        if self._voice.mode == "tap":
            if not self._input.editor.is_empty:
                return False
            self._start()
            return True
        if self._presses < _WARM:
            return False
        editor = self._input.editor
        for _ in range(self._presses - 1):
            editor.backspace()
        self._presses = 0
        self._start()
        return True

    def _start(self) -> None:
        self._is_starting = True
        if self._voice.mode == "hold":
            self._await_release(_FIRST_GAP)
        self._app.spawn(self._open())

    async def _open(self) -> None:
        try:
            opened = await self._voice.record(self._app.redraw)
        except BridleError as error:
            self._stop_waiting()
            self._is_starting = False
            self._tell(str(error), "warning")
            return
        if not self._is_starting:
            await opened.discard()
            return
        self._recording, self._is_starting = opened, False
        self._app.redraw()

    def _await_release(self, seconds: float) -> None:
        self._stop_waiting()
        self._release = asyncio.get_running_loop().call_later(seconds, self._finish)

    def _stop_waiting(self) -> None:
        if self._release is not None:
            self._release.cancel()
            self._release = None

    def _finish(self) -> None:
        self._stop_waiting()
        recording, self._recording = self._recording, None
        if recording is None:
            # It was over before the microphone had started.
            self._is_starting = False
            self._app.redraw()
            return
        self._is_writing = True
        self._app.spawn(self._write(recording))
        self._app.redraw()

    async def _write(self, recording: Recording) -> None:
        try:
            text = await recording.finish()
        except BridleError as error:
            self._tell(str(error), "warning")
            return
        finally:
            self._is_writing = False
            self._app.redraw()
        if not text:
            self._tell("No words were recognized.", "notice")
            return
        self._put(text)
        if self._voice.submits and _DOES_MORE.search(self._input.editor.text):
            self._tell("This may run a command or attach a file. Press enter to send it.", "notice")
        elif self._voice.submits:
            self.submit()
        self._app.redraw()

    def _put(self, text: str) -> None:
        editor = self._input.editor
        before = editor.text[: editor.cursor]
        editor.insert(f" {text}" if before and not before[-1].isspace() else text)
        self._input.refresh()

    def _discard(self) -> None:
        self._stop_waiting()
        recording, self._recording = self._recording, None
        self._is_starting = False
        if recording is not None:
            self._app.spawn(recording.discard())
        self._app.redraw()
