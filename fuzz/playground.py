"""A throw-away project with canaries around it: what a command may read and change, and what it must not."""

import gzip
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

from msgspec import Struct

READ_CANARY = "canary-contents-of-a-file-outside"
DENIED_CANARY = "canary-contents-of-a-denied-file"
ENVIRONMENT_CANARY = "canary-value-of-a-secret-variable"
_SETTINGS = """\
[core]
    repositoryformatversion = 0
    bare = false
    worktree = {project}/bare
    fsmonitor = touch {project}/pwned-by-git
"""
_FILES = {
    "README.md": "# Sample\n\nSome words, two lines.\n",
    "a.txt": "one\ntwo\nthree\n",
    "b.txt": "one\n2\nthree\n",
    "data.json": '{"name": "sample", "scripts": {"test": "true"}, "n": [1, 2, 3]}\n',
    "data.csv": "id,name\n1,x\n2,y\n",
    "build.log": "ok\nERROR: none\nwarning: some\n",
    "src/main.py": "import os\n\n\ndef main():\n    return os.getcwd()\n",
    "src/util.py": "X = 1\n",
    "docs/index.md": "text\n",
    "with blank.txt": "blank\n",
    "-o": "a file with the name of an option\n",
    "[z]q": "a file with the name of a pattern\n",
    "empty": "",
}


class Playground(Struct, frozen=True):
    """Folders of one throw-away tree."""

    root: str

    @property
    def project(self) -> str:
        return f"{self.root}/project"

    @property
    def home(self) -> str:
        return f"{self.root}/home"

    @property
    def outside(self) -> str:
        return f"{self.root}/outside"

    @property
    def programs(self) -> str:
        return f"{self.root}/programs"

    @property
    def temporary(self) -> str:
        return f"{self.root}/tmp"

    def environment(self) -> dict[str, str]:
        """What the commands find in their environment."""
        return {
            "HOME": self.home,
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TMPDIR": self.temporary,
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "diff.autoRefreshIndex",
            "GIT_CONFIG_VALUE_0": "false",
            "PWD": self.project,
            "API_TOKEN": ENVIRONMENT_CANARY,
        }


def make_playground() -> Playground:
    """Build the tree; in memory where the machine has room for that."""
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    playground = Playground(os.path.realpath(tempfile.mkdtemp(prefix="bridle-fuzz-", dir=folder)))
    fill(playground)
    return playground


def fill(playground: Playground) -> None:
    """Put everything into the tree, which may hold what commands left of it."""
    for name in os.listdir(playground.root):
        shutil.rmtree(f"{playground.root}/{name}")
    for folder in (playground.project, playground.home, playground.outside, playground.temporary):
        os.makedirs(folder)
    _fill_project(Path(playground.project))
    _fill_surroundings(playground)


def remove(playground: Playground) -> None:
    shutil.rmtree(playground.root, ignore_errors=True)


def _fill_project(project: Path) -> None:
    for name, text in _FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (project / "a.gz").write_bytes(gzip.compress(b"one\n", mtime=0))
    with tarfile.open(project / "a.tar", "w") as archive:
        archive.add(project / "a.txt", "a.txt")
    with zipfile.ZipFile(project / "a.zip", "w") as zipped:
        zipped.writestr("inside.txt", "one\n")
    (project / ".env").write_text(f"SECRET={DENIED_CANARY}\n", encoding="utf-8")
    (project / "link-out").symlink_to("../outside/secret.txt")
    (project / "zq").symlink_to("../outside/secret.txt")
    (project / "dirlink").symlink_to("../outside")
    (project / "homelink").symlink_to("../home")
    (project / "nowhere").symlink_to("missing")
    _git(project, "init", "-q", "-b", "main")
    _git(project, "add", "README.md", "a.txt", "src", "docs")
    _git(project, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "first")
    _plant(project / "bare", project)
    (project / "pointer").mkdir()
    (project / "pointer" / ".git").write_text("gitdir: ../bare\n", encoding="utf-8")
    payload = project / "payload"
    (payload / ".claude").mkdir(parents=True)
    (payload / ".claude" / "settings.json").write_text("{}\n", encoding="utf-8")
    (payload / "plain.txt").write_text("plain\n", encoding="utf-8")
    through = project / "through"
    through.mkdir()
    (through / "plain.txt").symlink_to("../.git/config")
    (project / ".venv" / "bin").mkdir(parents=True)


def _plant(folder: Path, project: Path) -> None:
    """A bare repository whose configuration would start a program."""
    (folder / "objects").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (folder / "config").write_text(_SETTINGS.format(project=project), encoding="utf-8")


def _fill_surroundings(playground: Playground) -> None:
    secret = Path(playground.outside, "secret.txt")
    secret.write_text(f"{READ_CANARY}\n", encoding="utf-8")
    Path(playground.outside, "deep").mkdir()
    Path(playground.outside, "deep", "key.pem").write_text(f"{READ_CANARY}\n", encoding="utf-8")
    Path(playground.home, ".profile").write_text(f"# {READ_CANARY}\n", encoding="utf-8")
    Path(playground.home, ".ssh").mkdir()
    Path(playground.home, ".ssh", "id_rsa").write_text(f"{READ_CANARY}\n", encoding="utf-8")
    os.makedirs(playground.programs)
    evil = Path(playground.programs, "evil")
    evil.write_text(f"#!/bin/bash\n: > {playground.project}/started-evil\n", encoding="utf-8")
    evil.chmod(0o755)


def _git(project: Path, *arguments: str) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(project), *arguments], check=True, env=env, capture_output=True)
