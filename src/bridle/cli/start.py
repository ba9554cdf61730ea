"""The prompt that is on the screen before the program is."""

from bridle.frontends.tui.first_frame import FirstFrame


class Start:
    """The first frame until the program takes it over."""

    def __init__(self, frame: FirstFrame | None) -> None:
        self._frame = frame

    def take(self) -> FirstFrame | None:
        """Hand over the frame."""
        frame, self._frame = self._frame, None
        return frame

    def give_up(self) -> None:
        """Restore the terminal if it was not taken over."""
        if (frame := self.take()) is not None:
            frame.undo()
