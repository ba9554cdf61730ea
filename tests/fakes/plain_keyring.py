"""A keyring that is a file, for programs that PYTHON_KEYRING_BACKEND points here."""

import json
import os
from pathlib import Path
from typing import Any

from keyring.backend import KeyringBackend


class PlainKeyring(KeyringBackend):
    """Keeps passwords in the file that PLAIN_KEYRING names."""

    priority: Any = 1.0

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._read(), f"{service}/{username}": password})

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(f"{service}/{username}")

    def delete_password(self, service: str, username: str) -> None:
        values = self._read()
        del values[f"{service}/{username}"]
        self._write(values)

    def _read(self) -> dict[str, str]:
        path = Path(os.environ["PLAIN_KEYRING"])
        return json.loads(path.read_text()) if path.exists() else {}

    def _write(self, values: dict[str, str]) -> None:
        Path(os.environ["PLAIN_KEYRING"]).write_text(json.dumps(values))
