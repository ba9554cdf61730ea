"""What a Python package brings to bridle through the entry point group `bridle.plugins`."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from bridle.types.command import Command
from bridle.types.model import Provider
from bridle.types.tool import Tool


class PackageHook(Struct, frozen=True, kw_only=True):
    """A function that is called on an event, in this process."""

    event: str
    function: Callable[[dict[str, Any]], Any]
    """Takes the input of a hook; returns an output object, None, or something to await for either."""
    matcher: str | None = None


class FeatureSetting(Struct, frozen=True, kw_only=True):
    """A setting of a feature: users write it as `bridleFeatures.<feature>.<name>`."""

    feature: str
    name: str
    type: Any
    """What its value must be, as msgspec checks it: `str`, `int`, a Literal, a Struct."""
    meaning: str
    default: Any = None


class Contribution(Struct, frozen=True, kw_only=True):
    """The entry point names one of these, or a function without arguments that makes one."""

    tools: tuple[Tool, ...] = ()
    hooks: tuple[PackageHook, ...] = ()
    commands: tuple[Command, ...] = ()
    features: tuple[Callable[[Any], Any], ...] = ()
    """Each is called with a `bridle.features.context.FeatureContext` and returns a `Feature`, or None."""
    settings: tuple[FeatureSetting, ...] = ()
    """The settings of these features."""
    providers: Mapping[str, Callable[[Mapping[str, str]], Provider]] = {}
    """Who answers for models called `name/…`: made from the environment when such a model is chosen."""
