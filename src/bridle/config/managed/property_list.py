"""Managed settings from device management: property lists, as macOS keeps them."""

import plistlib
from typing import Any
from xml.parsers.expat import ExpatError

import msgspec

from bridle.host.files import read_bytes

_LARGEST = 2 * 1024 * 1024


def read_property_list(path: str) -> str:
    """The settings of a property list as JSON; what is not JSON where the list cannot be read.

    Text that is not JSON is reported as a broken source, which an empty object would not be.
    """
    try:
        values: Any = plistlib.loads(read_bytes(path, _LARGEST))
        return msgspec.json.encode(values).decode()
    except OSError as error:
        return f"could not read the property list: {error.strerror}"
    except (plistlib.InvalidFileException, ExpatError, ValueError, TypeError, RecursionError):
        return "not a property list of settings"
