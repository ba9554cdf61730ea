"""What is wrong with a chain: every record that was changed, removed, moved, doubled or cut, by its index."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from bridle.features.audit.keys import head_file
from bridle.features.audit.records import FIRST, Head, Key, Record, hash_of, read_head, read_record

Damage = Literal["changed", "removed", "moved", "doubled", "cut", "unlinked", "head", "witness"]


class Fault(Struct, frozen=True, order=True):
    index: int
    damage: Damage

    def __str__(self) -> str:
        return _WORDS[self.damage].format(self.index)


_WORDS: dict[Damage, str] = {
    "changed": "record {} was changed",
    "removed": "record {} was removed",
    "moved": "record {} was moved",
    "doubled": "record {} appears more than once",
    "cut": "record {} is missing at the end",
    "unlinked": "record {} does not follow the one before it",
    "head": "the head file is missing or damaged; it should name record {} or a later one",
    "witness": "record {} differs from the witness",
}


class ChainCheck(Struct, frozen=True, kw_only=True):
    """What the look at a chain gave."""

    records: tuple[Record, ...]
    """Those that are signed, in the order of the file."""
    faults: tuple[Fault, ...] = ()
    unfinished: int = 0
    """Bytes of a record that a process did not live to finish: no fault."""

    @property
    def is_sealed(self) -> bool:
        """Whether the last session ended in order."""
        last = self.records[-1] if self.records else None
        return last is not None and last.kind == "seal" and bool(last.data.get("ended"))


class WitnessLine(Struct, frozen=True):
    """A line of a witness."""

    session: str
    index: int
    head: str


def verify(path: str, session: str, key: Key, *, witness: str = "") -> ChainCheck:
    """Look at a whole chain.

    Raises:
        OSError: the chain or the witness cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    head, head_fault = None, False
    try:
        head = read_head(key, session, head_file(path))
    except ValueError:
        head_fault = True
    seen = read_witness(witness, session) if witness else ()
    return inspect(data, session, key, head=head, head_fault=head_fault or head is None, seen=seen)


def read_witness(path: str, session: str) -> tuple[WitnessLine, ...]:
    """What a witness says of a session.

    Raises:
        OSError: it cannot be read.
    """
    found: list[WitnessLine] = []
    with open(path, "rb") as file:
        for line in file:
            try:
                said = msgspec.json.decode(line, type=WitnessLine)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if said.session == session:
                found.append(said)
    return tuple(found)


def inspect(
    data: bytes,
    session: str,
    key: Key,
    *,
    head: Head | None,
    head_fault: bool = False,
    seen: Sequence[WitnessLine] = (),
) -> ChainCheck:
    """Look at the bytes of a chain."""
    lines = data.split(b"\n")
    unfinished = lines.pop()
    read = [read_record(key, session, line) for line in lines]
    indexes = _indexes(read)
    known = set(indexes)
    count = max(known, default=-1) + 1
    last = head.index if head is not None else -1
    faults: set[Fault] = set()
    faults.update(Fault(index, "changed") for index, record in zip(indexes, read, strict=True) if not record)
    faults.update(Fault(index, "removed") for index in range(count) if index not in known)
    faults.update(Fault(index, "doubled") for index, times in Counter(indexes).items() if times > 1)
    faults.update(Fault(index, "cut") for index in range(count, last + 1))
    faults.update(_moved(indexes))
    hashes = {index: hash_of(line) for index, line in zip(indexes, lines, strict=True)}
    if not faults:
        faults.update(_unlinked(read, hashes))
    if head is not None and head.index in hashes and hashes[head.index] != head.hash:
        faults.add(Fault(head.index, "changed"))
    if head_fault and count:
        faults.add(Fault(count - 1, "head"))
    for each in seen:
        if hashes.get(each.index) != each.head:
            faults.add(Fault(each.index, "cut" if each.index >= count else "witness"))
    return ChainCheck(
        records=tuple(record for record in read if record is not None),
        faults=tuple(sorted(faults)),
        unfinished=len(unfinished),
    )


def _indexes(read: Sequence[Record | None]) -> list[int]:
    """The index of each line; one that is not signed has the place behind the one before it."""
    found: list[int] = []
    for record in read:
        found.append(record.i if record is not None else (found[-1] + 1 if found else 0))
    return found


def _moved(indexes: Iterable[int]) -> Iterable[Fault]:
    """Records out of their order; those that are there twice count once."""
    once = list(dict.fromkeys(indexes))
    return (Fault(index, "moved") for index, right in zip(once, sorted(once), strict=True) if index != right)


def _unlinked(read: Sequence[Record | None], hashes: dict[int, str]) -> Iterable[Fault]:
    for record in read:
        if record is not None and record.prev != hashes.get(record.i - 1, FIRST):
            yield Fault(record.i, "unlinked")
