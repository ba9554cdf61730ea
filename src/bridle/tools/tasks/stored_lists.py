"""Task lists on disk: one folder each, one file for each item, shared by all sessions that use the name."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NotRequired, TypedDict

import msgspec

from bridle.host.files import make_folders, write_atomic
from bridle.host.lock import FileLock
from bridle.host.paths import config_home
from bridle.types.errors import ToolError

Status = Literal["pending", "in_progress", "completed"]

_HIGHEST = ".highwatermark"
_MOST_ITEMS = 1_000
_LARGEST = 1_000_000


class Item(TypedDict):
    """An item as its file holds it; fields of others are kept."""

    id: str
    subject: str
    description: str
    status: Status
    blocks: list[str]
    blockedBy: list[str]
    activeForm: NotRequired[str]
    owner: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]


def folder_of(session_id: str, env: Mapping[str, str]) -> str:
    """The folder of the list that this session works on."""
    name = env.get("CLAUDE_CODE_TASK_LIST_ID") or session_id
    safe = re.sub(r"[^A-Za-z0-9_.-]", "-", name)[:200]
    return os.path.join(config_home(env), "tasks", safe if safe.strip(".") else "-")


def read_items(folder: str) -> list[Item]:
    """Every item in the order of their numbers; a file that cannot be read costs only itself."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    numbers = sorted(int(name[:-5]) for name in names if re.fullmatch(r"[1-9]\d{0,8}\.json", name))
    found = (_read(folder, str(number)) for number in numbers)
    return [item for item in found if item is not None]


def find_item(folder: str, item_id: str) -> Item:
    """One item.

    Raises:
        ToolError: there is none; the known ones are named.
    """
    item = _read(folder, item_id.removeprefix("#").strip())
    if item is None:
        known = ", ".join(each["id"] for each in read_items(folder)[-20:]) or "none"
        raise ToolError(f"Unknown task {item_id}. Tasks: {known}.")
    return item


def add_item(
    folder: str, *, subject: str, description: str, active_form: str | None, metadata: dict[str, Any] | None
) -> Item:
    """Write a new item under the next number, which is never given twice.

    Raises:
        ToolError: the list is full or in use, or cannot be written.
    """
    with _Locked(folder):
        items = read_items(folder)
        if len(items) >= _MOST_ITEMS:
            raise ToolError(f"The list is full ({_MOST_ITEMS} tasks): delete completed tasks.")
        number = 1 + max((_highest(folder), *(int(each["id"]) for each in items)))
        item: Item = {
            "id": str(number),
            "subject": subject,
            "description": description,
            "status": "pending",
            "blocks": [],
            "blockedBy": [],
        }
        if active_form is not None:
            item["activeForm"] = active_form
        if metadata is not None:
            item["metadata"] = metadata
        write_atomic(os.path.join(folder, _HIGHEST), f"{number}\n".encode(), mode=0o600)
        _write(folder, item)
        return item


def change_item(folder: str, item_id: str, change: Callable[[Item], None]) -> Item:
    """Read, change and write one item under a lock.

    Raises:
        ToolError: there is no such item, or the list cannot be written.
    """
    with _Locked(folder):
        item = find_item(folder, item_id)
        change(item)
        _write(folder, item)
        return item


def link_items(folder: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Note for each pair that the first must be done before the second.

    Raises:
        ToolError: an item is not there, or would wait for itself.
    """
    with _Locked(folder):
        for before, after in pairs:
            first, second = find_item(folder, before), find_item(folder, after)
            if first["id"] == second["id"] or _leads_to(folder, second["id"], first["id"]):
                raise ToolError(f"Task {after} cannot wait for {before}: {before} already waits for {after}.")
            if second["id"] not in first["blocks"]:
                first["blocks"].append(second["id"])
                _write(folder, first)
            if first["id"] not in second["blockedBy"]:
                second["blockedBy"].append(first["id"])
                _write(folder, second)


def remove_item(folder: str, item_id: str) -> Item:
    """Delete an item and every mention of it.

    Raises:
        ToolError: there is no such item, or the list cannot be written.
    """
    with _Locked(folder):
        gone = find_item(folder, item_id)
        for item in read_items(folder):
            if gone["id"] in (*item["blocks"], *item["blockedBy"]):
                item["blocks"] = [each for each in item["blocks"] if each != gone["id"]]
                item["blockedBy"] = [each for each in item["blockedBy"] if each != gone["id"]]
                _write(folder, item)
        os.unlink(os.path.join(folder, f"{gone['id']}.json"))
        return gone


def open_blockers(item: Item, items: Iterable[Item]) -> list[str]:
    """What the item still waits for."""
    unfinished = {each["id"] for each in items if each["status"] != "completed"}
    return [each for each in item["blockedBy"] if each in unfinished]


class _Locked:
    """The list for one writer; faults of the disk and of locks become results."""

    def __init__(self, folder: str) -> None:
        try:
            make_folders(folder, private=True)
        except OSError as error:
            raise ToolError(f"Could not save the task list: {error.strerror}.") from error
        self._lock = FileLock(os.path.join(folder, ".lock"))

    def __enter__(self) -> None:
        self._lock.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self._lock.__exit__(kind, error, trace)
        if isinstance(error, OSError):
            raise ToolError(f"Could not save the task list: {error.strerror}.") from error


def _read(folder: str, item_id: str) -> Item | None:
    if not re.fullmatch(r"[1-9]\d{0,8}", item_id):
        return None
    try:
        with open(os.path.join(folder, f"{item_id}.json"), "rb") as file:
            return _sound(msgspec.json.decode(file.read(_LARGEST), type=dict[str, Any]), item_id)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _sound(values: dict[str, Any], item_id: str) -> Item | None:
    """The item, if it has what the rest relies on; fields of others stay in it."""
    usual = {"description": "", "status": "pending", "blocks": [], "blockedBy": []}
    whole: Any = {**usual, **values, "id": item_id}
    try:
        msgspec.convert(whole, Item)
    except msgspec.ValidationError:
        return None
    return whole


def _write(folder: str, item: Item) -> None:
    data = msgspec.json.format(msgspec.json.encode(item), indent=2)
    write_atomic(os.path.join(folder, f"{item['id']}.json"), data, mode=0o600)


def _highest(folder: str) -> int:
    try:
        with open(os.path.join(folder, _HIGHEST), encoding="ascii", errors="replace") as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return 0


def _leads_to(folder: str, start: str, goal: str) -> bool:
    """Whether finishing `start` must come before `goal` already."""
    waiting, seen = [start], {start}
    while waiting:
        item = _read(folder, waiting.pop())
        for after in () if item is None else item["blocks"]:
            if after == goal:
                return True
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return False
