"""Takes the keyboard from the line discipline of a terminal and gives it back."""

import termios

Attributes = list[int | list[bytes | int]]
"""What `termios.tcgetattr` returns."""


def enter_raw(fd: int) -> Attributes:
    """Have every key delivered at once and unchanged; returns the settings before.

    Raises:
        termios.error: it is not a terminal, or it is gone.
    """
    before: Attributes = termios.tcgetattr(fd)
    into, out, control, local, speed_in, speed_out, characters = termios.tcgetattr(fd)
    into &= ~(termios.BRKINT | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.INPCK)
    into &= ~(termios.ISTRIP | termios.IXON)
    # Output stays as it is: what a crash prints then still begins at the left margin.
    control = control & ~termios.PARENB | termios.CS8
    local &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.IEXTEN | termios.ISIG)
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    # Nothing that was typed before is thrown away.
    termios.tcsetattr(fd, termios.TCSANOW, [into, out, control, local, speed_in, speed_out, characters])
    return before


def leave_raw(fd: int, before: Attributes) -> None:
    """Put the settings back.

    Raises:
        termios.error: the terminal is gone.
    """
    termios.tcsetattr(fd, termios.TCSADRAIN, before)
