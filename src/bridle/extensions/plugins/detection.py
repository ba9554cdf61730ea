"""Whether there may be any plugins: asked at every start, so kept cheap."""

import os
import os.path
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bridle.config.load import Config
from bridle.extensions.cache import Stamps, stamps_of
from bridle.extensions.plugins.names import plugins_dir
from bridle.extensions.roots import roots_of, whereabouts


def is_any_installed(config: Config, env: Mapping[str, str]) -> bool:
    """Whether plugins are installed or settings name some; nothing is read."""
    return bool(config.raw.get("enabledPlugins")) or os.path.exists(
        os.path.join(plugins_dir(env), "installed_plugins.json")
    )


def has_marketplaces(env: Mapping[str, str]) -> bool:
    """Whether any marketplace was added; nothing is read."""
    return os.path.exists(os.path.join(plugins_dir(env), "known_marketplaces.json"))


def skill_folders(
    config: Config, env: Mapping[str, str], *, cwd: str, trusted: bool, extra: Sequence[str] = ()
) -> list[str]:
    """The folders of skills that whole plugins may lie in; those of a project only where it is trusted."""
    roots = roots_of("skills", whereabouts(config, env, cwd=cwd, extra=extra))
    return [root.path for root in roots if trusted or root.source != "project"]


def among_skills(folders: Iterable[str]) -> Iterator[str]:
    """Folders among the skills that are whole plugins."""
    for folder in folders:
        for skill in _listed(folder):
            # Asked for hundreds of folders: `access` costs a third of what `exists` does.
            if os.access(_manifest(skill), os.F_OK):
                yield skill


def no_plugin_among(folders: Sequence[str]) -> tuple[Stamps, Stamps]:
    """What tells that there is no plugin among skills: nothing new in the folders, no manifest in a skill."""
    there = stamps_of(folder for folder in folders if os.path.isdir(folder)).changed
    absent = tuple(folder for folder in folders if folder not in there)
    manifests = tuple(_manifest(skill) for folder in there for skill in _listed(folder))
    return Stamps(there, absent), Stamps(absent=manifests)


def _listed(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []  # Most folders have no skills.
    return [f"{folder}/{name}" for name in sorted(names) if not name.startswith(".")]


def _manifest(folder: str) -> str:
    return f"{folder}/.claude-plugin/plugin.json"
