"""A home, a project and a folder for managed settings, all real."""

import json
from pathlib import Path
from typing import Any

from bridle.config.load import Config, load


class Folders:
    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.managed = root / "managed"
        self.files = {
            "user": self.home / ".claude" / "settings.json",
            "project": self.project / ".claude" / "settings.json",
            "local": self.project / ".claude" / "settings.local.json",
            "managed": self.managed / "managed-settings.json",
        }
        for file in self.files.values():
            file.parent.mkdir(parents=True, exist_ok=True)
        self.env = {"HOME": str(self.home)}

    def write(self, **layers: dict[str, Any] | str) -> None:
        for name, values in layers.items():
            text = values if isinstance(values, str) else json.dumps(values, indent=2)
            self.files[name].write_text(text, encoding="utf-8")

    def load(
        self,
        *,
        flag: str | None = None,
        setting_sources: tuple[str, ...] | None = None,
        trusted: bool | None = True,
    ) -> Config:
        return load(
            cwd=str(self.project),
            env=self.env,
            flag=flag,
            setting_sources=setting_sources,
            managed_dir=str(self.managed),
            trusted=trusted,
        )
