"""Commands of the user's settings that print a credential, or see to it that there is one."""

from collections.abc import Mapping

from bridle.types.errors import ProviderError

_LARGEST = 64 * 1024
_QUOTED = 200
"""Characters of a command's complaint that an error repeats."""


async def output_of(
    command: str, env: Mapping[str, str], *, setting: str, remedy: str, patience: float, cwd: str = "/"
) -> str:
    """What a command prints; `setting` is where it stands, `remedy` the other way out.

    Raises:
        ProviderError: it cannot be run, fails, or does not end in time.
    """
    from bridle.host.process import run  # Few users have such commands.

    try:
        said = await run(("/bin/sh", "-c", command), cwd=cwd, env=env, timeout=patience, limit=_LARGEST)
    except OSError as error:
        raise fault(setting, f"did not start ({error.strerror})", remedy) from error
    if said.timed_out:
        raise fault(setting, f"timed out after {patience:g} s", remedy)
    if said.code != 0:
        complaint = " ".join(said.stderr.decode(errors="replace").split())[:_QUOTED]
        quoted = f": {complaint}" if complaint else ""
        raise fault(setting, f"failed with exit code {said.code}{quoted}", remedy)
    return said.stdout.decode(errors="replace").strip()


def fault(setting: str, what: str, remedy: str) -> ProviderError:
    """The error for a command that does not do its work."""
    text = f"The command of {setting} {what}: fix it in your settings, or {remedy}."
    return ProviderError(text, kind="authentication_failed")
