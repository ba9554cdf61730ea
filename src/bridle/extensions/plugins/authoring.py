"""For authors of plugins: begin one, check one, and mark a release."""

import asyncio
import os
import os.path
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.extensions.frontmatter import read_front
from bridle.extensions.plugins.components import discover
from bridle.extensions.plugins.manifest import COMPONENTS, FILE, read_manifest
from bridle.extensions.plugins.marketplace import FILE as LIST
from bridle.extensions.plugins.marketplace import read_marketplace
from bridle.extensions.plugins.names import is_name
from bridle.extensions.plugins.plugin import Manifest
from bridle.extensions.plugins.versions import key
from bridle.extensions.workflows import read_meta
from bridle.host.files import read_bytes, write_atomic
from bridle.host.scripts.script import check_script
from bridle.types.errors import ConfigError, UsageError
from bridle.types.text import encodable_value

PARTS = ("skill", "command", "agent", "workflow", "hook", "mcp", "output-style")
_LARGEST = 4 * 1024 * 1024
_KNOWN_KEYS = frozenset(
    (
        "$schema", "name", "displayName", "version", "description", "author", "homepage", "repository",
        "license", "keywords", "metadata", "defaultEnabled", "userConfig", "channels",
        "dependencies", *COMPONENTS,
    )
)  # fmt: skip


_WORKFLOW = """\
export const meta = {
  name: 'example-workflow',
  description: 'Describe what this does and when to use it.',
  phases: [{ title: 'Look' }],
}

phase('Look')
return await agent(`Look into this and report: ${args}`, { label: 'look' })
"""


class Finding(Struct, frozen=True, kw_only=True):
    path: str
    message: str
    is_error: bool = True
    line: int | None = None

    @property
    def place(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"

    def __str__(self) -> str:
        return f"{'error' if self.is_error else 'warning'}: {self.place}: {self.message}"


def validate(path: str) -> tuple[str, tuple[Finding, ...]]:
    """Check a plugin or a marketplace; says which of the two it is and what is wrong with it.

    Raises:
        UsageError: there is neither.
    """
    folder = os.path.abspath(path)
    if os.path.isfile(folder):
        name = os.path.basename(folder)
        if name == "marketplace.json":
            return "marketplace", tuple(_marketplace(folder))
        folder = os.path.dirname(os.path.dirname(folder)) if name == "plugin.json" else folder
    if os.path.isfile(os.path.join(folder, LIST)):
        return "marketplace", tuple(_marketplace(folder))
    if not os.path.isdir(folder):
        raise UsageError(f"{path} is not a folder, plugin.json or marketplace.json")
    return "plugin", tuple(_plugin(folder))


def scaffold(
    folder: str, *, name: str, facts: Mapping[str, Any], parts: Sequence[str], force: bool
) -> list[str]:
    """Begin a plugin in a folder; returns the files that were written.

    Raises:
        UsageError: the name cannot be used, or something is there already.
    """
    if not is_name(name):
        raise UsageError(f"invalid plugin name {name!r}: use letters, digits, dots and dashes")
    if unknown := [part for part in parts if part not in PARTS]:
        raise UsageError(f"unknown part {unknown[0]!r}; parts: {', '.join(PARTS)}")
    if os.path.exists(os.path.join(folder, FILE)) and not force:
        raise UsageError(f"{folder} is already a plugin; use -f to overwrite it")
    manifest = {"name": name, "version": "0.1.0", **facts}
    if encodable_value(manifest) != manifest:
        raise UsageError("the plugin description contains invalid characters")
    files = {FILE: _pretty(manifest)}
    for part in parts:
        files |= _sample(part, name)
    for below, text in files.items():
        place = os.path.join(folder, below)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        write_atomic(place, text.encode())
    return list(files)


def release_tag(folder: str) -> str:
    """The name of the tag that marks the version of a plugin.

    Raises:
        UsageError: the plugin has errors, or no version that can be released.
    """
    kind, findings = validate(folder)
    errors = [each for each in findings if each.is_error]
    if kind != "plugin" or errors:
        raise UsageError(
            f"{errors[0].path}: {errors[0].message}"
            if errors
            else f"{folder} is a marketplace: tag its plugins individually"
        )
    manifest = read_manifest(folder).manifest
    if manifest is None or key(manifest.version) is None:
        raise UsageError(f'{os.path.join(folder, FILE)} needs a "version" such as 1.0.0 before a release')
    return f"{manifest.name}--v{manifest.version}"


def _marketplace(place: str) -> Iterator[Finding]:
    try:
        market = read_marketplace(place)
    except ConfigError as error:
        yield Finding(path=place, message=str(error))
        return
    for fault in market.faults:
        yield Finding(path=fault.path, message=fault.message, line=fault.line)
    if not market.owner:
        yield Finding(path=place, message='"owner" with a name is missing', is_error=False)
    for offer in market.offers.values():
        if offer.source.kind == "directory":
            folder = offer.source.location
            if not os.path.isdir(folder):
                yield Finding(path=place, message=f"{offer.name}: folder {folder} does not exist")
                continue
            yield from _plugin(folder, entry=offer.entry)
        elif offer.source.kind == "git" and not offer.source.sha:
            message = f"{offer.name}: without a sha its content can change after review"
            yield Finding(path=place, message=message, is_error=False)


def _plugin(folder: str, *, entry: Mapping[str, Any] | None = None) -> Iterator[Finding]:
    reading = read_manifest(folder, entry=entry)
    for fault in reading.faults:
        yield Finding(path=fault.path, message=fault.message, line=fault.line)
    manifest = reading.manifest
    if manifest is None:
        return
    yield from _manifest_advice(folder, manifest)
    components = discover(folder, manifest)
    for fault in components.faults:
        yield Finding(path=fault.path, message=fault.message, line=fault.line)
    if not any((components.places, components.hooks, components.mcp_servers, components.lsp_servers)):
        yield Finding(path=folder, message="the plugin is empty", is_error=False)
    for place in components.places:
        for file in _markdown(place.path) if place.kind in ("skills", "commands", "agents") else ():
            yield from _front(file, place.kind)
        for file in _scripts(place.path) if place.kind == "workflows" else ():
            yield from _script(file)


def _manifest_advice(folder: str, manifest: Manifest) -> Iterator[Finding]:
    file = os.path.join(folder, FILE)
    if not manifest.written:
        yield Finding(path=file, message="no manifest; using the folder name", is_error=False)
        return
    for name in sorted(set(manifest.values) - _KNOWN_KEYS):
        yield Finding(path=file, message=f"unknown key {name!r}", is_error=False)
    if not manifest.version:
        yield Finding(
            path=file, message='"version" is missing: updates are detected by content', is_error=False
        )
    if not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", manifest.name):
        yield Finding(path=file, message="names usually have lowercase letters and dashes", is_error=False)


def _front(file: str, kind: str) -> Iterator[Finding]:
    try:
        front = read_front(read_bytes(file, _LARGEST).decode("utf-8", "replace"), file=file)
    except OSError as error:
        yield Finding(path=file, message=f"could not be read: {error.strerror or error}")
        return
    if front.problem is not None:
        yield Finding(path=f"{file}:{front.problem.line or 1}", message=front.problem.message)
    elif not front.values.get("description"):
        missing = kind == "agents" and bool(front.values.get("name"))
        yield Finding(
            path=file, message='"description" is missing: describe when to use it', is_error=missing
        )


def _script(file: str) -> Iterator[Finding]:
    try:
        source = read_bytes(file, _LARGEST).decode("utf-8", "replace")
        read_meta(source)
    except (OSError, ConfigError) as error:
        yield Finding(path=file, message=str(error))
        return
    fault = asyncio.run(check_script(source))
    if fault is not None:
        yield Finding(path=file, message=str(fault))


def _scripts(path: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    return sorted(each.path for each in os.scandir(path) if each.name.endswith((".js", ".mjs")))


def _markdown(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
        return
    for parent, folders, files in os.walk(path):
        folders.sort()
        skill = "SKILL.md" in files
        yield from (
            os.path.join(parent, name)
            for name in sorted(files)
            if name == "SKILL.md" or (not skill and name.endswith(".md"))
        )
        if skill:
            folders.clear()


def _sample(part: str, name: str) -> dict[str, str]:
    match part:
        case "skill":
            header = f"description: Describe when to use this skill of {name}."
            return {"skills/example/SKILL.md": _page(header, "Describe what to do.")}
        case "command":
            return {
                "commands/example-command.md": _page(
                    "description: Describe what this does.", "Do it with $ARGUMENTS."
                )
            }
        case "agent":
            header = "name: example\ndescription: Describe when to use this agent."
            return {"agents/example.md": _page(header, "You do one task.")}
        case "workflow":
            return {"workflows/example-workflow.js": _WORKFLOW}
        case "hook":
            hook = {"type": "command", "command": 'sh "${CLAUDE_PLUGIN_ROOT}"/hooks/example.sh'}
            table = {"hooks": {"PostToolUse": [{"matcher": "Write|Edit", "hooks": [hook]}]}}
            return {"hooks/hooks.json": _pretty(table), "hooks/example.sh": "#!/bin/sh\nexit 0\n"}
        case "mcp":
            server = {"command": "${CLAUDE_PLUGIN_ROOT}/server", "args": []}
            return {".mcp.json": _pretty({"mcpServers": {"example": server}})}
        case _:
            return {
                "output-styles/example.md": _page("description: Describe the style.", "Answer in this style.")
            }


def _page(header: str, body: str) -> str:
    return f"---\n{header}\n---\n\n{body}\n"


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
