"""A home for plugins, marketplaces and archives made on the spot."""

import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from bridle.config.load import Config, load
from bridle.extensions.plugins.context import PluginContext
from bridle.extensions.plugins.loader import load_plugins
from bridle.extensions.plugins.plugin import PluginRequest, Plugins
from bridle.extensions.plugins.session_cache import current_plugins

FIXTURE = Path(__file__).parent.parent / "fixtures" / "marketplace"


class PluginHome:
    """A user with a home and a project, and a marketplace `village` that may be changed."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.managed = folder / "managed"
        self.market = folder / "market"
        for each in (self.home, self.project, self.managed):
            each.mkdir()
        shutil.copytree(FIXTURE, self.market)
        self.env = {
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "PATH": os.environ["PATH"],
            "BRIDLE_CREDENTIALS": "file",
            "NO_PROXY": "127.0.0.1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    @property
    def plugins(self) -> Path:
        return self.home / ".claude" / "plugins"

    def settings(self, scope: str = "user") -> Any:
        file = {
            "user": self.home / ".claude" / "settings.json",
            "project": self.project / ".claude" / "settings.json",
            "local": self.project / ".claude" / "settings.local.json",
        }[scope]
        return json.loads(file.read_text()) if file.exists() else {}

    def config(self, *, trusted: bool = True) -> Config:
        return load(
            cwd=str(self.project),
            env=self.env,
            flag=None,
            setting_sources=None,
            managed_dir=str(self.managed),
            trusted=trusted,
        )

    def around(self, **more: Any) -> PluginContext:
        return PluginContext(
            env=self.env, cwd=str(self.project), settings=self.config().settings, now=lambda: "now", **more
        )

    def load(self, *folders: Path, trusted: bool = True) -> Plugins:
        """The plugins of a session: what is remembered and confirmed is the same as what is read."""
        wish = self.wish(*folders, trusted=trusted)
        plugins, remembered = current_plugins(wish)
        if remembered is not None and not remembered.confirm():
            plugins, _ = current_plugins(wish)
        assert plugins == load_plugins(wish)
        return plugins

    def as_fetched(self) -> None:
        """Let installed plugins be as from a marketplace elsewhere, of which only the copy is there."""
        file = self.plugins / "installed_plugins.json"
        values = json.loads(file.read_text())
        for records in values["plugins"].values():
            for record in records:
                record.pop("bridleSource", None)
        file.write_text(json.dumps(values))

    def wish(self, *folders: Path, trusted: bool = True) -> PluginRequest:
        return PluginRequest(
            config=self.config(trusted=trusted),
            env=self.env,
            cwd=str(self.project),
            trusted=trusted,
            folders=tuple(map(str, folders)),
        )


def write_plugin(folder: Path, manifest: dict[str, Any] | None = None, **files: str) -> Path:
    """A plugin folder; in the names of files a double underscore stands for a slash."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = dict(files)
    if manifest is not None:
        texts[".claude-plugin/plugin.json"] = json.dumps(manifest)
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def write_market(folder: Path, name: str, plugins: list[dict[str, Any]], **more: Any) -> Path:
    place = folder / ".claude-plugin"
    place.mkdir(parents=True, exist_ok=True)
    (place / "marketplace.json").write_text(
        json.dumps({"name": name, "owner": {"name": "o"}, "plugins": plugins, **more})
    )
    return folder


def git(folder: Path, *words: str) -> str:
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    clean = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ("git", *author, *words), cwd=folder, env=clean, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def make_repository(folder: Path) -> str:
    """Commit all of a folder; returns the commit."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")
    return git(folder, "rev-parse", "HEAD")


def tarball(members: dict[str, bytes | tarfile.TarInfo]) -> bytes:
    """A gzipped archive of files, or of members as they are given."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content, io.BytesIO(b"\0" * content.size))
                continue
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def packed(folder: Path, prefix: str) -> bytes:
    """All files of a folder in an archive, below one folder."""
    files = {
        f"{prefix}/{path.relative_to(folder)}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return tarball({**files})
