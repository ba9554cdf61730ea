"""Keeps plugins up to date whose marketplace says so; what would run something else waits for the user."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from bridle.extensions.plugins import marketplaces
from bridle.extensions.plugins.context import PluginContext
from bridle.extensions.plugins.installation import Change, update
from bridle.extensions.plugins.installation_plan import Item
from bridle.extensions.plugins.marketplaces import updates_itself
from bridle.extensions.plugins.names import PluginId, parse_id
from bridle.extensions.plugins.state import Known, is_for, lock, read_installed, read_known
from bridle.types.errors import BridleError
from bridle.types.variables import is_on

_PAUSE = timedelta(hours=1)


def may_update(env: Mapping[str, str]) -> bool:
    """Whether anything may be looked for without the user asking."""
    if is_on(env, "FORCE_AUTOUPDATE_PLUGINS"):
        return True
    return not (is_on(env, "DISABLE_AUTOUPDATER") or is_on(env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"))


def due(around: PluginContext, now: datetime) -> tuple[str, ...]:
    """The marketplaces that are to be kept up to date and have not been looked at for a while.

    Raises:
        ConfigError: the file that lists them does not parse.
    """
    return tuple(
        name
        for name, known in read_known(around.env).items()
        if updates_itself(around, name, known) and _is_old(known, now)
    )


async def auto_update(around: PluginContext, names: Sequence[str]) -> tuple[str, ...]:
    """Bring marketplaces and what is installed from them up to date; a sentence for each thing worth knowing.

    A marketplace or a plugin that cannot be had stays as it is.
    """
    messages: list[str] = []
    for name in names:
        try:
            async with lock(around.env):
                renewed = await marketplaces.update(around, name)
            if renewed.stale:
                continue
            for plugin in _installed_from(around, name):
                messages += await _update(around, plugin)
        except (BridleError, OSError) as error:
            messages.append(f"Could not update the marketplace {name}: {error}")
    return tuple(messages)


async def _update(around: PluginContext, plugin: PluginId) -> list[str]:
    records = read_installed(around.env).plugins.get(str(plugin), ())
    agreed = {record.bridle_approved for record in records}
    held: list[Item] = []

    def agree(items: Sequence[Item]) -> bool:
        # Agreeing to run something is the user's; the same things in a newer text are agreed to already.
        held.extend(item for item in items if item.plugin != plugin or item.approval not in agreed)
        return not held

    try:
        changes = await update(around, plugin, agree=agree)
    except (BridleError, OSError) as error:
        if held:
            return [
                (f"An update of {plugin} changes what it runs. Review it with: bridle plugin update {plugin}")
            ]
        return [f"Could not update {plugin}: {error}"]
    return [_sentence(change) for change in changes]


def _installed_from(around: PluginContext, marketplace: str) -> list[PluginId]:
    return [
        parse_id(name)
        for name, records in read_installed(around.env).plugins.items()
        if name.endswith(f"@{marketplace}") and any(is_for(each, around.cwd) for each in records)
    ]


def _sentence(change: Change) -> str:
    return f"Updated {change.plugin} to {change.version}. Use it in this session with /reload-plugins."


def _is_old(known: Known, now: datetime) -> bool:
    try:
        then = datetime.fromisoformat(known.last_updated)
    except ValueError:
        return True
    return now - (then if then.tzinfo else then.replace(tzinfo=UTC)) >= _PAUSE
