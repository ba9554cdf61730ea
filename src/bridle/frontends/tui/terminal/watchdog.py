"""A tiny process that puts the terminal in order when bridle is killed without warning."""

import os
import signal

_SCRIPT = """
trap '' HUP INT QUIT TERM TSTP TTIN TTOU
last=
while IFS= read -r line; do last=$line; done
[ "$last" = done ] || { stty sane <&1; printf '%b' "$last"; }
"""


class Watchdog:
    """Holds what must be written to the terminal should this process end without closing the guard."""

    def __init__(self, fd: int) -> None:
        """Watch over the terminal behind `fd`.

        Raises:
            OSError: there is no shell, or no process can be started.
        """
        inner, self._pipe = os.pipe()
        try:
            self._child = os.posix_spawn(
                "/bin/sh",
                ["sh", "-c", _SCRIPT],
                {"PATH": "/usr/bin:/bin"},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, inner, 0),
                    (os.POSIX_SPAWN_DUP2, fd, 1),
                    (os.POSIX_SPAWN_DUP2, fd, 2),
                ],
                setpgroup=0,
                setsigdef=[signal.SIGPIPE],
            )
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            os.close(inner)

    def remember(self, sequence: str) -> None:
        """What to write from now on."""
        self._tell("".join(c if " " <= c <= "~" and c != "\\" else f"\\0{ord(c):03o}" for c in sequence))

    def close(self) -> None:
        """All is in order: the guard may go."""
        self._tell("done")
        os.close(self._pipe)
        try:
            os.waitpid(self._child, 0)
        except ChildProcessError:
            pass  # It was reaped already.

    def _tell(self, text: str) -> None:
        try:
            os.write(self._pipe, f"{text}\n".encode())
        except BrokenPipeError:
            pass  # It was killed itself; what it would have done can only be done by `reset` now.
