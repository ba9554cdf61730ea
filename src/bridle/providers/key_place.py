"""Where keys that users have saved are written down."""

import os.path
from collections.abc import Mapping

from bridle.host.paths import bridle_dir


def file_of(env: Mapping[str, str]) -> str:
    """The file that says which vendors have a key, and has the keys unless a keyring does."""
    return os.path.join(bridle_dir(env), "credentials.json")
