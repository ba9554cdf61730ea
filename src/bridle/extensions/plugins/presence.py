"""Whether there may be any plugins: asked at every start, so kept cheap."""

import os
import os.path
from collections.abc import Iterator, Mapping, Sequence

from bridle.config.load import Config
from bridle.extensions.places import roots_of, whereabouts
from bridle.extensions.plugins.names import plugins_dir


def is_any_installed(config: Config, env: Mapping[str, str]) -> bool:
    """Whether plugins are installed or settings name some; nothing is read."""
    return bool(config.raw.get("enabledPlugins")) or os.path.exists(
        os.path.join(plugins_dir(env), "installed_plugins.json")
    )


def has_marketplaces(env: Mapping[str, str]) -> bool:
    """Whether any marketplace was added; nothing is read."""
    return os.path.exists(os.path.join(plugins_dir(env), "known_marketplaces.json"))


def among_skills(
    config: Config, env: Mapping[str, str], *, cwd: str, trusted: bool, extra: Sequence[str] = ()
) -> Iterator[str]:
    """Folders among the skills that are whole plugins; those of a folder that is not trusted do not count."""
    for root in roots_of("skills", whereabouts(config, env, cwd=cwd, extra=extra)):
        if root.source == "project" and not trusted:
            continue
        try:
            with os.scandir(root.path) as entries:
                folders = [entry.path for entry in entries if not entry.name.startswith(".")]
        except OSError:
            continue  # Most folders have no skills.
        # Asked for hundreds of folders at every start: `access` costs a third of what `exists` does.
        yield from sorted(
            folder for folder in folders if os.access(f"{folder}/.claude-plugin/plugin.json", os.F_OK)
        )
