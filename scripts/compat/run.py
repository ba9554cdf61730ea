"""Runs third-party programs with bridle as `claude`, against a scripted model, and prints which of them work.

`make compat` installs them below .venv/peers/compat, which needs the network once. `--reference PATH` adds a
column for another command line, and `--write` puts the table into docs/compatibility.md.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from msgspec import Struct
from scripts.compat.programs import PROGRAMS, Program

from tests.fakes.messages_server import MessagesServer, Step, step
from tests.fakes.sse import tool_use

_ROOT = Path(__file__).parents[2]
_HERE = Path(__file__).parent
_PAGE = _ROOT / "docs" / "compatibility.md"
_SECONDS = 120
_USAGE = {
    "input_tokens": 100,
    "output_tokens": 50,
    "cache_creation_input_tokens": 200,
    "cache_read_input_tokens": 300,
}


class Verdict(Struct, frozen=True):
    word: str
    """yes, no, or not installed."""
    why: str = ""


def main() -> None:
    chosen = _arguments()
    programs = [
        each for each in PROGRAMS if not chosen.only or any(word in each.name for word in chosen.only)
    ]
    for program in () if chosen.installed else programs:
        _install(program, chosen.folder)
    columns = {"bridle": str(Path(sys.executable).parent / "bridle")}
    if chosen.reference:
        columns["Claude Code"] = os.path.abspath(chosen.reference)
    found = {
        name: asyncio.run(_column(programs, command, chosen.folder)) for name, command in columns.items()
    }
    table = _table(programs, found)
    print(table)
    for name, verdicts in found.items():
        print(f"{name}: {sum(each.word == 'yes' for each in verdicts)} of {len(verdicts)} work")
        for program, verdict in zip(programs, verdicts, strict=True):
            if verdict.why:
                print(f"  {program.name} {program.version}: {verdict.why}")
    if chosen.write:
        text = _PAGE.read_text(encoding="utf-8")
        head, _, _ = text.partition("<!-- written by make compat -->")
        _PAGE.write_text(f"{head}<!-- written by make compat -->\n\n{table}", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=_ROOT / ".venv" / "peers" / "compat")
    parser.add_argument("--reference", help="another command line, for a column of its own")
    parser.add_argument("--only", nargs="*", default=(), help="parts of names")
    parser.add_argument("--installed", action="store_true", help="install nothing")
    parser.add_argument("--write", action="store_true", help="write docs/compatibility.md")
    return parser.parse_args()


def _install(program: Program, folder: Path) -> None:
    place = folder / program.folder
    done = place.with_name(f"{place.name}.ok")
    if done.exists():
        return
    place.mkdir(parents=True, exist_ok=True)
    if program.source == "npm":
        spec = f"{program.name}@{program.version}"
        steps = [
            [
                "npm",
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--prefix",
                str(place),
                spec,
                *program.extra,
            ]
        ]
    else:
        spec = f"{program.name}=={program.version}"
        steps = [
            [sys.executable, "-m", "venv", str(place)],
            [
                str(place / "bin" / "pip"),
                "install",
                "--quiet",
                "--disable-pip-version-check",
                spec,
                *program.extra,
            ],
        ]
    try:
        for argv in steps:
            subprocess.run(argv, check=True, capture_output=True, timeout=600)
        done.touch()
    except (OSError, subprocess.SubprocessError):
        shutil.rmtree(place, ignore_errors=True)


async def _column(programs: list[Program], command: str, folder: Path) -> list[Verdict]:
    """What each program comes to with one command line as `claude`."""
    verdicts: list[Verdict] = []
    for program in programs:
        if not (folder / f"{program.folder}.ok").exists():
            verdicts.append(Verdict("not installed"))
            continue
        with tempfile.TemporaryDirectory(prefix="compat-") as place:
            async with MessagesServer(_script(Path(place) / "project")) as server:
                verdicts.append(
                    await asyncio.to_thread(_try, program, command, folder, Path(place), server.url)
                )
        print(f"{program.name} {program.version}: {verdicts[-1].word}", file=sys.stderr)
    return verdicts


def _script(project: Path) -> list[Step]:
    file = str(project / "new.txt")
    usage: Any = {"message": {"usage": _USAGE}, "repeat": True}
    bash = tool_use("Bash", id="toolu_b1", command="echo hi", description="Say hi")
    write = tool_use("Write", id="toolu_e1", file_path=file, content="one\ntwo\n")
    edit = tool_use("Edit", id="toolu_e2", file_path=file, old_string="two", new_string="three")
    reset = tool_use("Bash", id="toolu_r1", command="git reset --hard", description="Reset")
    return [
        step("It was not run.", when="toolu_r1", **usage),
        step(reset, when="#reset", **usage),
        step("Edited.", when="toolu_e2", **usage),
        step(edit, when="toolu_e1", **usage),
        step(write, when="#edits", **usage),
        step("It said hi.", when="toolu_b1", **usage),
        step("Running.", bash, when="#bash", **usage),
        step(json.dumps({"title": "A title"}), **usage),
    ]


def _try(program: Program, command: str, folder: Path, place: Path, url: str) -> Verdict:
    project, home, path = place / "project", place / "home", place / "bin"
    for each in (project, home, path):
        each.mkdir()
    (path / "claude").symlink_to(command)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    known = {"hasTrustDialogAccepted": True}
    (home / ".claude.json").write_text(
        json.dumps({"hasCompletedOnboarding": True, "projects": {str(project): known}})
    )
    bins = folder / program.folder / ("node_modules/.bin" if program.source == "npm" else "bin")
    kept = {key: os.environ[key] for key in ("LANG", "TERM") if key in os.environ}
    env = {
        **kept,
        "HOME": str(home),
        "PATH": f"{path}:{bins}:{os.environ['PATH']}",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "test-key",
        "ANTHROPIC_MODEL": "claude-sonnet-4-5-20250929",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_EXECUTABLE": command,
        "CLAUDE_CLI_NAME": str(path / "claude"),
        "COMPAT_CLAUDE": command,
        "IS_SANDBOX": "1",
        "COMPAT_MODULES": str(folder / program.folder / "node_modules"),
        "NO_COLOR": "1",
        "NO_PROXY": "127.0.0.1",
    }
    try:
        facts = _conversation(project, home, env, place)
        return _probe(program, project, env, facts)
    except subprocess.TimeoutExpired:
        return Verdict("no", f"not done after {_SECONDS} s")
    except (OSError, KeyError, IndexError, ValueError) as error:
        return Verdict("no", f"{type(error).__name__}: {error}")


def _conversation(project: Path, home: Path, env: dict[str, str], place: Path) -> dict[str, str]:
    """Have two prompts answered, and the facts that reports about them must show."""
    tools = ("--allowedTools", "Bash", "Write", "Edit", "--output-format", "json")
    _run(["claude", "-p", "hi #bash", *tools], project, env)
    done = json.loads(_run(["claude", "--continue", "-p", "go #edits", *tools], project, env))
    (used,) = done["modelUsage"].values()
    counts = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    (transcript,) = (home / ".claude" / "projects").glob("*/*.jsonl")
    return {
        "session": transcript.stem,
        "session8": transcript.stem[:8],
        "transcript": str(transcript),
        "output": str(used["outputTokens"]),
        "total": str(sum(used[name] for name in counts)),
        "out": str(place / "out"),
        "here": str(_HERE),
    }


def _probe(program: Program, project: Path, env: dict[str, str], facts: dict[str, str]) -> Verdict:
    probe = program.probe
    for argv in probe.setup:
        _run(list(argv), project, env)
    argv = [_filled(word, facts) for word in probe.argv]
    if probe.in_init:
        said = _run(["claude", "-p", "hi #bash", "--output-format", "stream-json", "--verbose"], project, env)
    elif probe.driver.endswith(".mjs"):
        entry = _entry_of(Path(env["COMPAT_MODULES"]) / argv[0])
        said = _run(["node", str(_HERE / probe.driver), str(entry)], project, env)
    elif probe.driver:
        python = "python" if program.source == "pypi" else sys.executable
        said = _run([python, str(_HERE / probe.driver), *argv], project, env)
    else:
        said = _run(argv, project, env)
    if re.search(_filled(probe.expects, facts), said):
        return Verdict("yes")
    return Verdict("no", f"expected {_filled(probe.expects, facts)!r} in {said[-300:]!r}")


def _entry_of(package: Path) -> Path:
    """The module that a package for Node is imported by."""
    described = json.loads((package / "package.json").read_text(encoding="utf-8"))
    exports = described.get("exports", {}).get(".", {})
    named = exports.get("default") or exports.get("import") if isinstance(exports, dict) else exports
    return package / (named or described.get("main") or "index.js")


def _filled(text: str, facts: dict[str, str]) -> str:
    for name, value in facts.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _run(argv: list[str], cwd: Path, env: dict[str, str]) -> str:
    program = shutil.which(argv[0], path=env["PATH"]) or argv[0]
    done = subprocess.run(
        [program, *argv[1:]],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if "claude" not in argv[:1] else subprocess.DEVNULL,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
    return done.stdout


def _table(programs: list[Program], found: dict[str, list[Verdict]]) -> str:
    rows = [
        f"| Program | Version | From | Kind | {' | '.join(found)} |",
        f"|---|---|---|---|{'---|' * len(found)}",
    ]
    for place, program in enumerate(programs):
        words = " | ".join(verdicts[place].word for verdicts in found.values())
        rows.append(f"| {program.name} | {program.version} | {program.source} | {program.group} | {words} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
