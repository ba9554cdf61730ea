"""Which versions an administrator lets start."""

import re

from bridle.config.schema import Settings
from bridle.types.errors import ConfigError
from bridle.version import COMPATIBLE_WITH


def check_version(settings: Settings) -> None:
    """Refuse a version that the managed settings rule out.

    The limits speak of releases of the shared surface, so the release that bridle is compatible with counts.

    Raises:
        ConfigError: this version is too old or too new.
    """
    lowest, highest = settings.required_minimum_version, settings.required_maximum_version
    if lowest is not None and _number(COMPATIBLE_WITH) < _number(lowest):
        raise ConfigError(
            f"Your administrator requires version {lowest} or later (requiredMinimumVersion); "
            f"this bridle is compatible with {COMPATIBLE_WITH}. Update bridle."
        )
    if highest is not None and _number(COMPATIBLE_WITH) > _number(highest):
        raise ConfigError(
            f"Your administrator allows versions up to {highest} (requiredMaximumVersion); "
            f"this bridle is compatible with {COMPATIBLE_WITH}. Install an older bridle."
        )


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("-")[0])))
