"""A project that somebody has worked in for a while, and a home with past conversations."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridle.transcripts import management, store
from bridle.transcripts.store import TranscriptPath, project_dir
from tests.transcripts.entries import say, text

FORMS = Path(__file__).parents[2] / "fakes" / "mcp_forms.py"
SETTINGS: Mapping[str, Any] = {
    "permissions": {
        "allow": [
            "Bash(git status)",
            "Bash(npm run test:*)",
            "Read(~/notes/**)",
            "WebFetch(domain:docs.example)",
        ],
        "deny": ["Read(.env)"],
        "ask": ["Bash(git push:*)"],
        "additionalDirectories": ["~/notes"],
    },
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true", "timeout": 5}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "printf finished > /dev/null"}]}],
    },
    "disableAutoMode": "disable",
}
_PAST = (
    ("Why does the login page load twice?", "main", 1_700_000_000, "Login page", "bugs"),
    ("Write a parser for the price list", "parser", 1_690_000_000, None, "parsing"),
    (
        "Explain how the queue of jobs is drained when the server is told to stop",
        "main",
        1_680_000_000,
        None,
        None,
    ),
)
_AGENT = """---
name: reviewer
description: Reads changes and tells what is wrong with them.
tools: Read, Grep
model: haiku
---
You read changes closely.
"""
_NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {
                "id": "rate",
                "cell_type": "code",
                "metadata": {},
                "source": ["rate = 0.19\n", "print(rate)"],
                "outputs": [],
                "execution_count": None,
            }
        ],
    }
)
_SKILL = """---
name: release
description: Make a release, with notes and a tag.
---
Write the notes first.
"""


def furnish(home: Path, project: Path) -> None:
    """Put files, a repository, conversations and extensions in place."""
    files = {
        "CLAUDE.md": "# Prices\n\nMoney is counted in cents.\n",
        "prices.py": "def total(items):\n    return sum(items)\n",
        "notes.ipynb": _NOTEBOOK,
        ".claude/agents/reviewer.md": _AGENT,
        ".claude/skills/release/SKILL.md": _SKILL,
        ".claude/commands/deploy.md": "---\ndescription: Bring it to the servers\n---\nDeploy $ARGUMENTS.\n",
    }
    for name, content in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    shutil.copy(FORMS, project / "travel.py")
    (home / "notes").mkdir()
    _commit(project, home)
    (project / "prices.py").write_text("def total(items, tax=0):\n    return sum(items) * (1 + tax)\n")
    (project / "taxes.py").write_text("RATE = 0.19\n")
    _talk(home, project)


def servers() -> str:
    """The flag that brings a server along."""
    return json.dumps({"mcpServers": {"travel": {"command": "python3", "args": ["travel.py"]}}})


def _commit(project: Path, home: Path) -> None:
    env = {**os.environ, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "First")):
        subprocess.run(["git", *who, *words], cwd=project, env=env, check=True)


def _talk(home: Path, project: Path) -> None:
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    for at, (prompt, branch, when, title, tag) in enumerate(_PAST):
        place = TranscriptPath(
            cwd=str(project), env=env, git_branch=branch, warn=print, clock=lambda when=when: when
        )
        session = store.begin(place)
        session.say_user(prompt)
        say(session, f"m{at}", text("This is what I found."))
        session.close()
        if title:
            management.rename(session.id, title, env)
        if tag:
            management.tag(session.id, tag, env)
        path = Path(project_dir(str(project), env)) / f"{session.id}.jsonl"
        os.utime(path, (when, when))
