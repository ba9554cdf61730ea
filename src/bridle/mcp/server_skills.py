"""Skills that servers offer: what they announce, and whether what they send is what they announced."""

import binascii
import hashlib
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from bridle.types.errors import McpError
from bridle.types.services.mcp import ServedSkill, SkillFile
from bridle.types.text import encodable, encodable_value

EXTENSION = "io.modelcontextprotocol/skills"
_SCHEME = "skill://"
_FILE = "/SKILL.md"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_MOST_SKILLS = 200
_MOST_FILES = 512
_MOST_BYTES = 16 * 1024 * 1024


class BadSkill(Exception):
    """An announcement that cannot be relied on; the message says why."""


def read_skills(
    server: str, listed: Iterable[Mapping[str, Any]]
) -> tuple[tuple[ServedSkill, ...], tuple[str, ...]]:
    """The skills that can be offered, and a sentence about each that cannot."""
    skills: dict[str, ServedSkill] = {}
    problems: list[str] = []
    for each in listed:
        try:
            skill = _skill(server, each)
            if skill.name in skills:
                raise BadSkill("its name is already in use")
        except BadSkill as fault:
            problems.append(f"the skill {str(each.get('uri'))[:100]} was skipped: {fault}")
            continue
        skills[skill.name] = skill
        if len(skills) == _MOST_SKILLS:
            break
    return tuple(skills.values()), tuple(problems)


def verify(skills: Iterable[ServedSkill], uri: str, result: Mapping[str, Any]) -> None:
    """Hold what was read against what was announced for it.

    Raises:
        McpError: it is something else.
    """
    for skill in skills:
        wanted = skill.files.get(uri)
        if wanted is not None and not _is_same(wanted, _bytes_of(result, uri)):
            raise McpError(f"{skill.server} sent a different {uri[:200]} than announced; it was ignored.")


def _is_same(wanted: SkillFile, data: bytes | None) -> bool:
    if data is None or len(data) != wanted.size:
        return False
    return f"sha256:{hashlib.sha256(data).hexdigest()}" == wanted.digest


def _bytes_of(result: Mapping[str, Any], uri: str) -> bytes | None:
    """The one content of an answer; None for anything else."""
    match result.get("contents"):
        case [{"text": str() as text} as content] if content.get("uri", uri) == uri:
            return text.encode(errors="surrogatepass")
        case [{"blob": str() as blob} as content] if content.get("uri", uri) == uri:
            try:
                return b64decode(blob, validate=True)
            except binascii.Error:
                return None
        case _:
            return None


def _skill(server: str, each: Mapping[str, Any]) -> ServedSkill:
    uri, front = each.get("uri"), each.get("frontmatter")
    if not isinstance(uri, str) or not uri.startswith(_SCHEME) or not uri.endswith(_FILE):
        raise BadSkill("its URI does not point to a SKILL.md")
    if not isinstance(front, dict) or not isinstance(front.get("description"), str):
        raise BadSkill("it has no description")
    name = uri.removesuffix(_FILE).rpartition("/")[2]
    if front.get("name") != name or _NAME.fullmatch(name) is None:
        raise BadSkill("its name differs from its folder")
    return ServedSkill(
        server=server,
        uri=encodable(uri),
        name=name,
        frontmatter=encodable_value(front),
        files=_files(uri, each.get("resources")),
    )


def _files(uri: str, listed: Any) -> dict[str, SkillFile]:
    """What each file of a skill must be; none where the server makes them as they are asked for."""
    if listed == "dynamic":
        return {}
    base = uri.removesuffix("SKILL.md")
    files: dict[str, SkillFile] = {}
    for each in listed if isinstance(listed, list) else ():
        match each:
            case {"uri": str() as file, "digest": str() as digest, "size": int() as size} if (
                file.startswith(base) and _DIGEST.fullmatch(digest) and size >= 0 and file not in files
            ):
                files[file] = SkillFile(digest=digest, size=size)
            case _:
                raise BadSkill("its file list is invalid")
    if uri not in files:
        raise BadSkill("its file list lacks SKILL.md")
    if len(files) > _MOST_FILES or sum(file.size for file in files.values()) > _MOST_BYTES:
        raise BadSkill("it has more than 512 files or 16 MiB")
    return files
