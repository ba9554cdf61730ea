"""What is settled before a session is opened."""

from collections.abc import Mapping

from msgspec import Struct

from bridle.cli.args import Args
from bridle.config.load import Config
from bridle.types.permission import Rule


class Setup(Struct, frozen=True, kw_only=True):
    """What is settled before the session is opened."""

    args: Args
    config: Config
    env: Mapping[str, str]
    cwd: str
    trusted: bool
    model: str
    rules: tuple[Rule, ...]
    problems: tuple[str, ...]
