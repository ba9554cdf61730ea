"""A keyring in a file, for programs that are told to use it by PYTHON_KEYRING_BACKEND."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.compat import properties


class FakeKeyring(KeyringBackend):
    """Keeps everything in the file that FAKE_KEYRING names."""

    @properties.classproperty
    def priority(self) -> float:
        return 1.0

    def _entries(self) -> dict[str, str]:
        file = Path(os.environ["FAKE_KEYRING"])
        return json.loads(file.read_text()) if file.exists() else {}

    def get_password(self, service: str, username: str) -> str | None:
        return self._entries().get(f"{service}|{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        entries = {**self._entries(), f"{service}|{username}": password}
        Path(os.environ["FAKE_KEYRING"]).write_text(json.dumps(entries))
