"""Files that come with a prompt from the hub."""

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from bridle.frontends.hub.machine.client import HubClient, HubRefused, HubUnreachable
from bridle.frontends.remote.errors import RequestRefused
from bridle.host.files import write_new
from bridle.types.ids import new_uuid

_LARGEST = 32_000_000
_MOST = 20
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


async def fetch_attachments(
    client: HubClient,
    files: Sequence[Any],
    folder: str,
    *,
    opened: Callable[[Any, bytes], bytes] | None = None,
) -> str:
    """Download files to a folder of this user alone; returns what mentions them, to stand before the prompt.

    Raises:
        RequestRefused: one cannot be had.
    """
    mentions = list[str]()
    for each in files[:_MOST]:
        match each:
            case {"file_uuid": str(id), "file_name": str(name)}:
                pass
            case _:
                raise RequestRefused(400, "an attachment has no name")
        try:
            data = await client.download(id, largest=_LARGEST)
        except (HubRefused, HubUnreachable) as fault:
            raise RequestRefused(503, f"can't fetch the attachment {safe_name(name)}: {fault}") from fault
        if opened is not None:
            if sha256(data).hexdigest() != each.get("sha256"):
                raise RequestRefused(403, f"the attachment {safe_name(name)} was changed on the way")
            data = opened(each.get("key"), data)
        path = os.path.join(folder, f"{new_uuid()[:8]}-{safe_name(name)}")
        try:
            await asyncio.to_thread(_store, path, data)
        except OSError as error:
            raise RequestRefused(503, f"can't save the attachment: {error.strerror}") from error
        mentions.append(f'@"{path}" ')
    return "".join(mentions)


def safe_name(name: str) -> str:
    """The last part of a name, in characters that mean nothing to a shell or a path."""
    plain = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2])[-100:]
    return plain.lstrip(".") or "file"


def _store(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    write_new(path, data)
