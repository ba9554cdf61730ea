"""The command line of bubblewrap that holds a plan."""

from collections.abc import Iterator, Sequence

from bridle.host.programs import PROGRAMS
from bridle.host.sandbox.plan import Layer

_PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")


def find_bubblewrap(configured: str | None) -> str | None:
    """The program from the managed settings, else from where systems install it."""
    places = _PLACES if configured is None else (configured,)
    return next((path for path in places if PROGRAMS.is_safe(path)), None)


def bubblewrap_argv(
    program: str, inner: Sequence[str], *, layers: Sequence[Layer], filesystem: bool, fresh_proc: bool
) -> tuple[str, ...]:
    """Start `inner` with nothing but what the layers open.

    It does not get --die-with-parent: what a command leaves running stays, as it does without a sandbox,
    until the session ends the process group, and with it everything inside.
    """
    return (
        program,
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--cap-drop",
        "ALL",
        *(_mounts(layers, fresh_proc=fresh_proc) if filesystem else ("--dev-bind", "/", "/")),
        "--",
        *inner,
    )


def _mounts(layers: Sequence[Layer], *, fresh_proc: bool) -> Iterator[str]:
    yield from ("--ro-bind", "/", "/")
    if fresh_proc:
        yield from ("--proc", "/proc")
    yield from ("--dev", "/dev")
    for layer in layers:
        match layer.kind:
            case "writable":
                yield from ("--bind-try", layer.source, layer.path)
            case "fixed":
                yield from ("--ro-bind", layer.source, layer.path)
            case "hidden":
                inside = any(other.path.startswith(layer.path + "/") for other in layers)
                yield from ("--perms", "0111" if inside else "0000", "--tmpfs", layer.path)
    for layer in layers:
        if layer.kind == "hidden":
            yield from ("--remount-ro", layer.path)
