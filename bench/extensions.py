"""Start-up with nothing against 500 skills, 200 agents, 200 commands and 100 plugins, in one run."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.server import BenchServer, answer, text

_BRIDLE = str(Path(sys.executable).with_name("bridle"))
_SKILLS, _AGENTS, _COMMANDS, _PLUGINS = 500, 200, 200, 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        homes = {name: Path(folder) / name for name in ("none", "many")}
        for home in homes.values():
            (home / "project").mkdir(parents=True)
        _fill(homes["many"] / ".claude")
        _install(homes["many"], Path(folder) / "market")
        server = BenchServer()
        _start(server, homes["none"])
        first = _start(server, homes["many"])
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in homes}
        for _ in range(rounds):
            for name, home in homes.items():
                taken[name].append(_start(server, home))
    print(f"first start, all files new     wall {first[0] * 1000:7.1f} ms   cpu {first[1] * 1000:7.1f} ms")
    medians = {
        name: [statistics.median(each) * 1000 for each in zip(*times, strict=True)]
        for name, times in taken.items()
    }
    for name, (wall, cpu) in medians.items():
        print(f"to the first request, {name:<8} wall {wall:7.1f} ms   cpu {cpu:7.1f} ms")
    # Neighbors in time share the mood of the machine, so each pair is a measurement.
    pairs = [
        [many / none for many, none in zip(*each, strict=True)]
        for each in zip(taken["many"], taken["none"], strict=True)
    ]
    wall, cpu = map(statistics.median, zip(*pairs, strict=True))
    print(f"ratio (budget 1.1)             wall {wall:7.3f}      cpu {cpu:7.3f}")


def _start(server: BenchServer, home: Path) -> tuple[float, float]:
    """Seconds from exec to the first request, on the clock and of the processor for the whole run."""
    server.expect([answer(text("ok"))])
    env = {
        **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": "bench",
        "NO_PROXY": "127.0.0.1",
    }
    began = time.monotonic()
    process = subprocess.Popen(
        [_BRIDLE, "-p", "hi"],
        cwd=home / "project",
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"bridle failed with {process.returncode}")
    return server.arrivals[0].arrived - began, usage.ru_utime + usage.ru_stime


def _fill(folder: Path) -> None:
    for number in range(_SKILLS):
        _write(
            folder / "skills" / f"skill-{number}" / "SKILL.md",
            f"description: Skill number {number} that does something useful with files\nallowed-tools: Read",
        )
    for number in range(_AGENTS):
        _write(
            folder / "agents" / f"agent-{number}.md",
            f"name: agent-{number}\ndescription: Agent number {number}\ntools: [Read, Grep]",
        )
    for number in range(_COMMANDS):
        _write(
            folder / "commands" / f"group-{number % 10}" / f"command-{number}.md", "description: A command"
        )


def _install(home: Path, market: Path) -> None:
    """Install plugins from a marketplace, each with a skill and an agent of its own."""
    names = [f"plugin-{number}" for number in range(_PLUGINS)]
    for name in names:
        _write_json(market / name / ".claude-plugin" / "plugin.json", {"name": name, "version": "1.0.0"})
        _write(market / name / "skills" / "help" / "SKILL.md", f"description: The skill of {name}")
        _write(market / name / "agents" / "aide.md", f"name: aide\ndescription: The agent of {name}")
    offers = [{"name": name, "source": f"./{name}"} for name in names]
    catalog = {"name": "market", "owner": {"name": "bench"}, "plugins": offers}
    _write_json(market / ".claude-plugin" / "marketplace.json", catalog)
    env = {**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    for words in (
        ["marketplace", "add", str(market)],
        ["install", "-y", *(f"{name}@market" for name in names)],
    ):
        subprocess.run(
            [_BRIDLE, "plugin", *words], cwd=home / "project", env=env, check=True, capture_output=True
        )


def _write_json(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))


def _write(file: Path, header: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\n{header}\n---\n" + "Instructions that take some room.\n" * 40)


if __name__ == "__main__":
    main()
