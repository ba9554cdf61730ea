"""The prompt that is on the screen before the program is."""

from bridle.frontends.tui.first_frame import FirstFrame


class Start:
    """The first frame until somebody takes it over."""

    def __init__(self, frame: FirstFrame | None) -> None:
        self._frame = frame

    def take(self) -> FirstFrame | None:
        """The frame, for whoever looks after the terminal from now on."""
        frame, self._frame = self._frame, None
        return frame

    def give_up(self) -> None:
        """Put the terminal in order if nobody has taken it over."""
        if (frame := self.take()) is not None:
            frame.undo()
