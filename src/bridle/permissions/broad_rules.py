"""Finds allow rules that let through more than their readers may think."""

from collections.abc import Iterator, Sequence

from bridle.permissions import tool_names
from bridle.permissions.lint import Finding
from bridle.types.permission import Effect, Rule

_RUNS_ANYTHING = """
    ash awk bash bun bunx busybox chroot cmake dash deno doas docker emacs env eval exec expect fish flatpak
    gawk gdb go irb java just ksh kubectl lua make mawk nix node npm npx nsenter perl php pip pip3 pipx pnpm
    podman poetry powershell pwsh python python2 python3 rake ruby script sh socat ssh strace su sudo
    systemctl systemd-run tclsh tmux unshare uv uvx vi vim watch wish xargs yarn zsh
"""
"""Programs that run what their arguments or files of the project say."""


def broad(rules: Sequence[Rule]) -> tuple[Finding, ...]:
    """Every allow rule that stands for almost anything."""
    return tuple(
        Finding(rule, message)
        for rule in rules
        if rule.effect is Effect.ALLOW and (message := next(_breadth(rule), None)) is not None
    )


def _breadth(rule: Rule) -> Iterator[str]:
    content = (rule.content or "").strip()
    bare = content in ("", "*", ":*")
    match rule.tool:
        case tool_names.SHELL if bare:
            yield "it allows every command"
        case tool_names.SHELL:
            words = content.split()
            program = words[0].removesuffix(":*").removesuffix("*").rpartition("/")[2]
            plain = [word for word in words if not word.startswith(("-c", "-e", "--eval", "--command"))]
            open_ended = content.endswith("*") and len(plain) - (plain[-1:] == ["*"]) <= 1
            if program == "":
                yield "it allows any program"
            elif open_ended and program in _RUNS_ANYTHING.split():
                yield f"{program} can run any program, so it allows every command"
            elif open_ended and not content.endswith((":*", " *")):
                yield f"it also allows other programs whose names begin with {program}"
        case tool if tool in tool_names.EDITORS and (bare or content in ("**", "//**", "~/**")):
            yield "it allows editing every file"
        case tool_names.READ if content in ("//**", "~/**", "//", "~"):
            yield "it allows reading files outside the project, including keys"
        case tool_names.FETCH if bare or content in ("domain:*", "domain:*.*"):
            yield "it allows every public address, so any data can be sent out"
        case tool if tool in tool_names.BY_HOST and (bare or content in ("domain:*", "domain:*.*")):
            yield "it lets pages of every public address be used with your logins"
        case _:
            pass
