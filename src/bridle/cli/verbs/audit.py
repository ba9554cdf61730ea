"""`bridle audit`: verify, show, export and prove what the audit chains of sessions say."""

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.load import load
from bridle.features.audit.check import ChainCheck, verify
from bridle.features.audit.comparison import differences, recorded_calls, transcript_calls
from bridle.features.audit.keys import audit_folder, chain_file, load_key
from bridle.features.audit.records import Key, Record
from bridle.transcripts.store import lookup
from bridle.types.errors import ConfigError, UsageError

_NAME = re.compile(r"[0-9a-zA-Z-]+")


def run_verify(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Look at chains, name what is wrong with them, and return 1 if anything is.

    Raises:
        UsageError: there is no such chain.
        ConfigError: there is no key.
    """
    key, default = _key(env)
    witness = given.text("witness") or default
    wrong = False
    for session in _sessions(given, env):
        found = _verified(session, key, env, witness)
        lines = [f"{fault}" for fault in found.faults] + _compared(session, found, key, env)
        wrong = wrong or bool(lines)
        state = "sealed" if found.is_sealed else "not sealed: still running, or killed"
        if found.unfinished:
            state = f"{state}; {found.unfinished} bytes of an unfinished record"
        tell(f"{session}: {len(found.records)} records, {len(lines) or 'no'} faults, {state}")
        tell(*(f"  {line}" for line in lines))
    return 1 if wrong else 0


def run_show(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the records of a chain, one line each.

    Raises:
        UsageError: there is no such chain.
        ConfigError: there is no key.
    """
    key, _ = _key(env)
    for session in _sessions(given, env)[:1]:
        found = _verified(session, key, env, "")
        code = tell(*map(_line, found.records))
        if found.faults:
            tell(f"{len(found.faults)} faults: bridle audit verify {session}")
            return 1
        return code
    return 0


def run_export(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the records of a chain in another form.

    Raises:
        UsageError: there is no such chain.
        ConfigError: there is no key.
    """
    key, _ = _key(env)
    for session in _sessions(given, env)[:1]:
        found = _verified(session, key, env, "")
        match given.text("format"):
            case "csv":
                code = say(_csv(found.records))
            case "otel":
                code = say(_otel(session, found.records))
            case _:
                code = say("".join(f"{msgspec.json.encode(each).decode()}\n" for each in found.records))
        return 1 if found.faults else code
    return 0


def run_prove(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show the records of a call or an index, and what holds them in place.

    Raises:
        UsageError: no chain has it.
        ConfigError: there is no key.
    """
    key, witness = _key(env)
    wanted = given.one("id")
    for session in _sessions(given, env):
        found = _verified(session, key, env, witness)
        named = [each for each in found.records if _is_named(each, wanted)]
        if not named:
            continue
        tell(f"session {session}, key {key.id}", *map(_line, named))
        about = [fault for fault in found.faults if fault.index <= max(each.i for each in named)]
        seals = [each.i for each in found.records if each.kind == "seal" and each.i > named[-1].i]
        tell(f"sealed by record {seals[0]}" if seals else "not sealed yet")
        wrong = [line for line in _compared(session, found, key, env) if wanted in line]
        tell(*(f"  {line}" for line in (*about, *wrong)))
        tell("NOT verified" if about or wrong else "verified: signed, linked and in its place")
        return 1 if about or wrong else 0
    raise UsageError(f"No record matches {wanted}. List records with: bridle audit show")


def _key(env: Mapping[str, str]) -> tuple[Key, str]:
    settings = load(cwd=os.getcwd(), env=env, flag=None, setting_sources=None).settings.bridle_audit
    witness = os.path.expanduser((settings and settings.witness) or "")
    try:
        key = load_key(env, keyring=settings is not None and settings.key == "keyring")
    except OSError as error:
        raise ConfigError(f"Can't read the audit key: {error.strerror}.") from error
    return key, witness if os.path.exists(witness) else ""


def _sessions(given: ParsedArguments, env: Mapping[str, str]) -> list[str]:
    """The sessions that are asked for: the one that is named, or all, the newest first."""
    name = given.text("session")
    if name:
        if not _NAME.fullmatch(name) or not os.path.isfile(chain_file(env, name)):
            raise UsageError(f"Session {name} has no audit chain.")
        return [name]
    try:
        files = [each for each in os.scandir(audit_folder(env)) if each.name.endswith(".jsonl")]
    except OSError:
        files = []
    if not files:
        raise UsageError("No audit chain. Turn it on with bridleAudit.enabled in the settings.")
    files.sort(key=lambda each: each.stat().st_mtime, reverse=True)
    return [each.name.removesuffix(".jsonl") for each in files]


def _verified(session: str, key: Key, env: Mapping[str, str], witness: str) -> ChainCheck:
    try:
        return verify(chain_file(env, session), session, key, witness=witness)
    except OSError as error:
        raise UsageError(f"{error.filename or 'The chain'} cannot be read: {error.strerror}.") from error


def _compared(session: str, found: ChainCheck, key: Key, env: Mapping[str, str]) -> list[str]:
    """What the transcript says differently, from the first record on."""
    path = lookup(session, os.getcwd(), env)
    if path is None or not found.records:
        return []
    try:
        with open(path, "rb") as file:
            said = transcript_calls(file, key, since=found.records[0].at)
    except OSError as error:
        return [f"can't read the transcript: {error.strerror}"]
    return differences(recorded_calls(found.records), said)


def _is_named(record: Record, wanted: str) -> bool:
    if wanted.isdecimal():
        return record.i == int(wanted)
    return wanted in (record.data.get("call"), record.data.get("request"), record.data.get("task"))


def _line(record: Record) -> str:
    data = " ".join(f"{name}={_value(value)}" for name, value in record.data.items())
    return f"{record.i:>6}  {record.at[:19]}  {record.kind:<14}  {data}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return f"{value[:12]}…" if len(value) == 64 else value
    return msgspec.json.encode(value).decode()


def _csv(records: Iterable[Record]) -> str:
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("index", "at", "kind", "data", "prev", "mac"))
    for each in records:
        data = msgspec.json.encode(each.data).decode()
        rows.writerow((each.i, each.at, each.kind, data, each.prev, each.mac))
    return text.getvalue()


def _otel(session: str, records: Iterable[Record]) -> str:
    """Log records in the JSON form of OTLP."""
    logs = [
        {
            "timeUnixNano": str(int(datetime.fromisoformat(each.at).timestamp() * 1000) * 1_000_000),
            "severityNumber": 9,
            "eventName": f"bridle.audit.{each.kind}",
            "body": {"stringValue": msgspec.json.encode(each.data).decode()},
            "attributes": [
                {"key": "audit.index", "value": {"intValue": str(each.i)}},
                {"key": "audit.prev", "value": {"stringValue": each.prev}},
                {"key": "audit.mac", "value": {"stringValue": each.mac}},
            ],
        }
        for each in records
    ]
    about = {
        "attributes": [
            {"key": "service.name", "value": {"stringValue": "bridle"}},
            {"key": "session.id", "value": {"stringValue": session}},
        ]
    }
    scopes = [{"scope": {"name": "bridle.audit"}, "logRecords": logs}]
    whole = {"resourceLogs": [{"resource": about, "scopeLogs": scopes}]}
    return f"{msgspec.json.encode(whole).decode()}\n"
