"""What approved Python packages bring to a session."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.engine.hooks.lazy_hooks import LazyHooks
from bridle.extensions.packages import Package, PackageFault, find_packages, is_approved, load_package
from bridle.host.paths import bridle_dir
from bridle.types.command import Command, CommandResult, Says
from bridle.types.errors import BridleError, ConfigError
from bridle.types.model import Provider
from bridle.types.package import Contribution, FeatureSetting
from bridle.types.tool import Tool

if TYPE_CHECKING:
    from bridle.engine.feature import Feature
    from bridle.features.context import FeatureContext


class Packages(Struct, frozen=True, kw_only=True):
    """The contributions of all approved packages."""

    brought: tuple[Contribution, ...] = ()

    def tools(self, taken: Sequence[str]) -> tuple[Tool, ...]:
        """Their tools, without those whose name is taken."""
        return tuple(tool for each in self.brought for tool in each.tools if tool.name not in taken)

    def commands(self) -> tuple[Command, ...]:
        return tuple(guarded_command(command) for each in self.brought for command in each.commands)

    def features(self) -> "tuple[Callable[[FeatureContext], Feature | None], ...]":
        """What opens their features."""
        return tuple(opener for each in self.brought for opener in each.features)

    def settings(self) -> tuple[FeatureSetting, ...]:
        return tuple(row for each in self.brought for row in each.settings)

    def provider(self, model: str, env: Mapping[str, str]) -> Provider | None:
        """Who answers for a model of one of the packages; None for models of others."""
        name = model.partition("/")[0] if "/" in model else ""
        make = next((each.providers[name] for each in self.brought if name in each.providers), None)
        if make is None:
            return None
        try:
            return make(env)
        except BridleError:
            raise
        except Exception as error:
            # The boundary of what a package may do to a session: a defect in one becomes a sentence.
            said = f"{type(error).__name__}: {error}"
            raise ConfigError(f"The package behind {model} failed: {said}; choose another model.") from error

    def listen(self, hooks: LazyHooks) -> None:
        """Let their hooks listen to events."""
        for hook in (hook for each in self.brought for hook in each.hooks):
            from bridle.hooks.handler import FunctionHook

            label = getattr(hook.function, "__qualname__", "function")
            hooks.add_function(
                hook.event, FunctionHook(function=hook.function, label=label), matcher=hook.matcher
            )


def approved_packages(env: Mapping[str, str], *, warn: Callable[[str], None]) -> Packages | None:
    """What packages bring; they are looked for once the user has approved one."""
    if not os.path.exists(os.path.join(bridle_dir(env), "packages.json")):
        return None
    return load_packages(env, warn=warn)


def load_packages(
    env: Mapping[str, str],
    *,
    path: Sequence[str] | None = None,
    closed: bool = False,
    warn: Callable[[str], None] = lambda _: None,
) -> Packages:
    """Import what the user has approved, nothing where that is `closed`; what cannot be used is reported."""
    if closed:
        return Packages()
    brought: list[Contribution] = []
    for package in find_packages(env, path):
        if not is_approved(env, package):
            continue
        loaded = load_package(package)
        if not isinstance(loaded, PackageFault):
            loaded = _described(package, loaded)
        if isinstance(loaded, PackageFault):
            warn(str(loaded))
            continue
        for each in loaded:
            others = {tool.name for other in brought for tool in other.tools}
            for name in sorted(others.intersection(tool.name for tool in each.tools)):
                warn(f"The tool {name} of {package.name} is skipped: another package has this tool.")
            brought.append(replace(each, tools=tuple(tool for tool in each.tools if tool.name not in others)))
    return Packages(brought=tuple(brought))


def _described(package: Package, brought: Sequence[Contribution]) -> list[Contribution] | PackageFault:
    """The contributions with the definitions of their tools."""
    try:
        return [replace(each, tools=tuple(map(defined, each.tools))) for each in brought]
    except Exception as error:
        # The input of a tool is a type of the package, and may be one that has no schema.
        return PackageFault(package, f"the input of a tool has no schema: {error}")


def defined(tool: Tool) -> Tool:
    """The tool with its definition for the model."""
    if tool.own_definition() is not None:
        return tool
    from bridle.tools.definitions import input_schema

    schema = input_schema(tool.input)
    return replace(tool, definition={"name": tool.name, "description": tool.summary, "input_schema": schema})


def guarded_command(command: Command) -> Command:
    """A command whose defects become sentences."""
    run: Callable[[str, Any], Any] = command.run

    async def guarded(arguments: str, context: Any) -> CommandResult:
        try:
            return await run(arguments, context)
        except (BridleError, OSError):
            raise
        except Exception as error:
            # The boundary of what a package may do to a session: a defect in one becomes a sentence.
            return Says(f"/{command.name} failed: {type(error).__name__}: {error}", is_error=True)

    return replace(command, run=guarded, source="package")
