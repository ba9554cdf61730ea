"""`bridle packages`: Python packages that extend bridle, and which of them may run."""

import re
from collections.abc import Mapping

from bridle.cli.say import tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.feature_settings import key_of
from bridle.extensions.packages import (
    Package,
    PackageFault,
    approve,
    find_packages,
    is_approved,
    load_package,
    revoke,
)
from bridle.types.errors import ConfigError, UsageError


def run_packages(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """List, check, approve or revoke packages.

    Raises:
        UsageError: there is no such package.
        ConfigError: the file of approvals cannot be used.
    """
    try:
        if given.command[-1] == "list":
            return _list(env)
        package = _named(given.one("name"), env)
        match given.command[-1]:
            case "check":
                return _check(package, env)
            case "approve":
                approve(env, package)
                return tell(f"{package.name} {package.version} is approved.\n")
            case _:
                revoke(env, package)
                return tell(f"{package.name} is no longer approved.\n")
    except OSError as error:
        raise ConfigError(f"{error.filename or 'The approvals'}: {error.strerror or error}") from error


def _list(env: Mapping[str, str]) -> int:
    packages = find_packages(env)
    for package in packages:
        state = "approved" if is_approved(env, package) else "not approved"
        targets = ", ".join(target for _, target in package.entries)
        tell(f"{package.name} {package.version} ({state}): {targets}", f"  {package.folder}")
    return 0 if packages else tell("No installed package extends bridle.")


def _check(package: Package, env: Mapping[str, str]) -> int:
    if not is_approved(env, package):
        raise UsageError(f"{package.name} is not approved: bridle packages approve {package.name}")
    loaded = load_package(package)
    if isinstance(loaded, PackageFault):
        tell(f"{loaded}\n")
        return 1
    for each in loaded:
        tell(
            f"tools: {', '.join(tool.name for tool in each.tools) or 'none'}",
            f"commands: {', '.join(command.name for command in each.commands) or 'none'}",
            f"hooks: {', '.join(hook.event for hook in each.hooks) or 'none'}",
            f"providers: {', '.join(each.providers) or 'none'}",
            *((f"features: {len(each.features)}",) if each.features else ()),
            *((f"settings: {', '.join(map(key_of, each.settings))}",) if each.settings else ()),
        )
    return 0


def _named(name: str, env: Mapping[str, str]) -> Package:
    for package in find_packages(env):
        if _plain(package.name) == _plain(name):
            return package
    raise UsageError(f"no installed package {name!r} extends bridle: see bridle packages list")


def _plain(name: str) -> str:
    """The name as installers compare it: without case, and with one sign for dashes, dots and underscores."""
    return re.sub(r"[-_.]+", "-", name).lower()
