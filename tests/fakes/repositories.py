"""Real git repositories for tests, with nobody's settings."""

import os
import subprocess
from pathlib import Path

GIT_ENV = {
    "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@t",
}  # fmt: skip


def git(folder: Path, *words: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        ["git", *words], cwd=folder, env=GIT_ENV, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder: Path, **files: str) -> Path:
    """A repository with one commit on main."""
    folder.mkdir(exist_ok=True, parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "t")
    git(folder, "config", "user.email", "t@t")
    commit(folder, "first", **(files or {"file": "one\n"}))
    return folder


def commit(folder: Path, message: str, **files: str) -> str:
    """Write files and commit them; the id of the commit."""
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def branch(folder: Path, name: str, **files: str) -> str:
    """A branch off main with one commit, made without touching the checkout; the id of its tip."""
    tree = folder.parent / f"{folder.name}-{name}"
    git(folder, "worktree", "add", "-q", "-b", name, str(tree), "main")
    tip = commit(tree, f"work of {name}", **files)
    git(folder, "worktree", "remove", str(tree))
    return tip
