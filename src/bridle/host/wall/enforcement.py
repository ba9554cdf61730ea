"""Holds commands that only judgment allowed to that, in whichever way the kernel has."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bridle.host.process import Spawn
from bridle.types.sandbox import Refusal, View

if TYPE_CHECKING:
    from bridle.host.wall.supervisor import Supervisor
    from bridle.host.wall.visible_files import VisiblePaths
    from bridle.host.wall.wall import Wall

_DOES_NOTHING = ("/bin/sh", "-c", "exit 126")
_TOO_MANY = Refusal(
    deed="run in a folder where rules close more files than can be looked for", call="bubblewrap"
)


class EnforcedCommand:
    """One command that is held."""

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        around: Callable[[Sequence[str]], Sequence[str]],
        supervise: "Callable[[tuple[int, ...]], Supervisor] | None",
        seen: "VisiblePaths",
        refused: Refusal | None = None,
    ) -> None:
        self.env = env
        """What of the environment the command gets."""
        self.argv = around
        """The command line that runs another inside."""
        self._supervise = supervise
        self._supervisor: Supervisor | None = None
        self._seen = seen
        self._refused = refused

    def spawner(self, *outputs: int) -> Spawn | None:
        """From where the command is to be started, with what it prints to; None when that does not matter."""
        if self._supervise is None:
            return None
        self._supervisor = self._supervise(outputs)
        return self._supervisor.spawn

    @property
    def refusal(self) -> Refusal | None:
        """What the kernel kept the command from; it was ended then."""
        return self._refused if self._supervisor is None else self._supervisor.refusal

    def refused_in(self, said: str, *, command: str, cwd: str, failed: bool) -> Refusal | None:
        """All refusals, those included that only the command's output shows."""
        if self.refusal is not None:
            return self.refusal
        if failed and self._supervisor is not None and self._supervisor.doubt is not None:
            return self._supervisor.doubt
        from bridle.host.wall.refused_reads import complaint_about

        return complaint_about(said, self._seen, command=command, cwd=cwd, failed=failed)


class Enforcement:
    """The second wall of a session; nothing is made before the first judged command."""

    def __init__(self) -> None:
        self._wall: Wall | None = None

    def hold(self, view: View, command: str, *, cwd: str, env: Mapping[str, str]) -> EnforcedCommand | None:
        """How to start a command so that it stays within a view; None where the kernel offers nothing."""
        from bridle.host.wall.environment import judged_environment
        from bridle.host.wall.probe import means
        from bridle.host.wall.wall import Wall

        if (how := means().way(view.level)) == "nothing":
            return None
        wall = self._wall = self._wall or Wall()
        try:
            wall.open()
        except OSError:
            return None  # No place for a private folder: a full or read-only disk.
        kept = judged_environment(env, command=command, temporary=wall.temporary, roots=view.roots)
        seen = wall.look(view, command=command, cwd=cwd, env=kept)
        if how == "bubblewrap":
            from bridle.host.wall.bubblewrap import wrap

            if seen.closed_paths is None:
                return EnforcedCommand(
                    env=kept, around=lambda _: _DOES_NOTHING, supervise=None, seen=seen, refused=_TOO_MANY
                )
            return EnforcedCommand(
                env=kept,
                around=lambda argv: wrap(argv, view, seen, temporary=wall.temporary, cwd=cwd),
                supervise=None,
                seen=seen,
            )
        return EnforcedCommand(
            env=kept,
            around=lambda argv: argv,
            supervise=lambda outputs: wall.supervisor(
                view, seen, env=kept, outputs=outputs, landlock=how == "landlock"
            ),
            seen=seen,
        )

    @property
    def temporary(self) -> str:
        """The private folder that held commands may write to; empty before there is one."""
        return "" if self._wall is None else self._wall.temporary

    def tidy(self) -> None:
        """Empty the private folder; nothing that is held runs any more."""
        if self._wall is not None:
            self._wall.tidy()

    def close(self) -> None:
        if self._wall is not None:
            self._wall.close()
            self._wall = None
