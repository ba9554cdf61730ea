"""`bridle hub` as people run it: served, killed, backed up, restored, paired with and revoked."""

import asyncio
import datetime
import os
import re
import sqlite3
import ssl
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from signal import SIGKILL, SIGTERM

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from bridle.cli.hub.pictures import qr_code
from bridle.cli.hub.serving import public_address
from bridle.frontends.hub.database import SCHEMA_VERSION, Database, StoreError, database_path, migrate
from bridle.frontends.hub.serve import read_address
from tests.fakes.forked import start
from tests.frontends.hub.scene import Client, said
from tests.tables import table


async def _run(folder: Path, *words: str) -> tuple[int | None, str, str]:
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(folder)}
    run = await start(("hub", *words), cwd=folder, env=env, stdin=DEVNULL)
    out, complaints = await run.communicate()
    return run.returncode, out.decode(), complaints.decode()


@asynccontextmanager
async def _served(folder: Path) -> AsyncGenerator[tuple[asyncio.subprocess.Process, Client]]:
    command = (sys.executable, "-m", "bridle", "hub", "serve", "--listen", "127.0.0.1:0")
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(folder)}
    program = await asyncio.create_subprocess_exec(*command, env=env, stdout=PIPE, stderr=PIPE, cwd=folder)
    assert program.stdout is not None
    try:
        line = (await program.stdout.readline()).decode()
        found = re.search(r"http://[\d.:]+", line)
        assert found is not None, (line, await program.stderr.read() if program.stderr else "")
        client = Client(found[0])
        try:
            yield program, client
        finally:
            await client.close()
    finally:
        if program.returncode is None:
            program.send_signal(SIGTERM)
            await program.communicate()


async def _code(folder: Path, *words: str) -> str:
    code, out, complaints = await _run(folder, *words)
    assert (code, complaints) == (0, "")
    return out.splitlines()[0]


async def test_nothing_that_was_answered_is_lost_or_doubled_by_a_kill(tmp_path: Path):
    async with _served(tmp_path) as (program, client):
        code = await _code(tmp_path, "invite", "--name", "box")
        machine = client.with_key((await client.post("/api/join", {"code": code}))["key"])
        id = (await machine.post("/v1/code/sessions", {"title": "t"}))["session"]["id"]
        bridge = await machine.post(f"/v1/code/sessions/{id}/bridge")
        worker = client.with_key(bridge["worker_jwt"])
        events = [said(str(n)) for n in range(300)]
        sending = [
            asyncio.create_task(worker.send("POST", f"/v1/code/sessions/{id}/worker/events", {"events": [e]}))
            for e in events
        ]
        await asyncio.wait(sending[:40], return_when=asyncio.ALL_COMPLETED)
        program.send_signal(SIGKILL)
        await program.wait()
        done = await asyncio.gather(*sending, return_exceptions=True)
    counted = {
        str(n) for n, each in enumerate(done) if not isinstance(each, BaseException) and each.status == 200
    }
    assert len(counted) >= 40
    async with _served(tmp_path) as (program, client):
        worker, machine = client.with_key(worker.key), client.with_key(machine.key)
        # Sent again, as a worker does that had no answer: what is there already is not there twice.
        for start_at in range(0, 300, 100):
            batch = {"events": events[start_at : start_at + 100]}
            await worker.post(f"/v1/code/sessions/{id}/worker/events", batch)
        session = id.replace("cse_", "session_")
        data = await machine.get(f"/v1/sessions/{session}/events")
    texts = [each["message"]["content"][0]["text"] for each in data["data"]]
    assert sorted(texts, key=int) == [str(n) for n in range(300)] and data["last"] == 300
    assert counted <= set(texts)


async def test_pairing_status_revoking_backup_and_restoring(tmp_path: Path):
    code, out, _ = await _run(tmp_path, "devices")
    assert (code, out) == (0, "No devices. Pair one with: bridle hub pair\n")
    pairing = await _code(tmp_path, "pair", "--role", "start", "--name", "phone")
    async with _served(tmp_path) as (program, client):
        joined = await client.post("/api/pair", {"code": f" {pairing.lower()} "})
        assert joined["role"] == "start"
        phone = client.with_key(joined["key"])
        assert (await client.send("POST", "/api/pair", {"code": pairing})).status == 401
        backup = tmp_path / "copy.sqlite"
        assert (await _run(tmp_path, "backup", str(backup)))[0] == 0
        assert oct(backup.stat().st_mode & 0o777) == "0o600"
        assert (await _run(tmp_path, "backup", str(backup)))[0] == 1
        assert (await _run(tmp_path, "revoke", "phone"))[1].startswith("Revoked device_")
        assert (await phone.send("GET", "/api/me")).status == 401
        assert "devices   0" in (await _run(tmp_path, "status"))[1]
        program.send_signal(SIGTERM)
        _, complaints = await program.communicate()
        assert (program.returncode, complaints) == (0, b"")
    refused = await _run(tmp_path, "restore", str(backup))
    assert refused[0] == 1 and "--force" in refused[2]
    assert (await _run(tmp_path, "restore", "--force", str(backup)))[0] == 0
    async with _served(tmp_path) as (_, client):
        assert (await client.with_key(joined["key"]).get("/api/me"))["name"] == "phone"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("serve", "--listen", "nowhere"), "--listen must be host:port"),
        (("serve", "--listen", "127.0.0.1:99999"), "--listen must be host:port"),
        (("serve", "--tls-cert", "x.pem"), "--tls-cert and --tls-key go together"),
        (("serve", "--listen", "127.0.0.1:0", "--tls-cert", "x", "--tls-key", "y"), "can't use --tls-cert"),
        (("pair", "--role", "king"), "king"),
        (("revoke", "no one"), "unknown device or machine 'no one'"),
        (("restore", "missing.sqlite"), "does not exist"),
        (("backup", "/proc/none/x"), "can't write the backup"),
    ],
)
async def test_wrong_words_are_one_clear_line(tmp_path: Path, words: tuple[str, ...], said: str):
    code, out, complaints = await _run(tmp_path, *words)
    assert (code, out) == (1, "")
    assert said in complaints and "Traceback" not in complaints and complaints.count("\n") <= 2


async def test_a_store_that_is_damaged_newer_or_no_store_is_named_and_kept(tmp_path: Path):
    folder = tmp_path / "bridle" / "hub"
    path = Path(database_path(str(folder)))
    migrate(str(path))
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    code, _, complaints = await _run(tmp_path, "status")
    assert code == 1 and "newer bridle" in complaints
    path.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    code, _, complaints = await _run(tmp_path, "status")
    assert code == 1 and "bridle hub restore" in complaints
    assert path.read_bytes().startswith(b"no database")
    wrong = tmp_path / "wrong.sqlite"
    with closing(sqlite3.connect(wrong)) as base:
        base.execute("CREATE TABLE other (x)")
        base.commit()
    assert "not a backup of a hub" in (await _run(tmp_path, "restore", "--force", str(wrong)))[2]


async def test_jobs_are_committed_together_and_one_that_fails_undoes_only_its_own(tmp_path: Path):
    base = Database(str(tmp_path / "x.sqlite"))

    def add(connection: sqlite3.Connection, key: str, *, fails: bool) -> str:
        connection.execute("INSERT INTO meta VALUES (?, 'v')", (key,))
        if fails:
            raise StoreError("no")
        return key

    def job(key: str):
        return base.write(lambda connection: add(connection, key, fails=key in ("b", "d")))

    done = await asyncio.gather(*(job(key) for key in "abcde"), return_exceptions=True)
    assert [each for each in done if isinstance(each, str)] == ["a", "c", "e"]
    assert all(isinstance(done[at], StoreError) for at in (1, 3))
    keys = await base.read(
        lambda connection: connection.execute("SELECT key FROM meta ORDER BY key").fetchall()
    )
    base.close()
    assert [key for (key,) in keys] == ["a", "c", "e", "secret"]


async def test_a_code_is_shown_as_a_picture_that_a_phone_reads(tmp_path: Path):
    segno = pytest.importorskip("segno", reason="segno is not installed")
    link = "https://hub.example/#pair=ABCDE-FGHJK"
    drawn = re.sub("\x1b\\[[0-9;]*m", "", qr_code(link)).splitlines()
    cells = {"█": (0, 0), "▀": (0, 1), "▄": (1, 0), " ": (1, 1)}
    rows = [[cells[each][half] for each in line] for line in drawn for half in (0, 1)]
    wanted = [list(row) for row in segno.make(link, error="l", micro=False).matrix_iter(border=2)]
    assert rows[: len(wanted)] == wanted


@table(
    "names, listen, certificate, is_proxied, address",
    [
        ([], "127.0.0.1:8790", "", False, "http://127.0.0.1:8790"),
        (["hub.example"], "0.0.0.0:8790", "", False, "http://hub.example:8790"),
        (["hub.example"], "0.0.0.0:8790", "c.pem", False, "https://hub.example:8790"),
        (["hub.example"], "0.0.0.0:443", "c.pem", False, "https://hub.example"),
        (["hub.example", "other"], "127.0.0.1:8790", "", True, "https://hub.example"),
    ],
)
def test_the_address_for_devices_follows_from_the_command_line(
    names: list[str], listen: str, certificate: str, is_proxied: bool, address: str
):
    read = read_address(listen, certificate, certificate)
    assert public_address(names, read, read.port, is_proxied=is_proxied) == address


async def test_the_hub_is_served_by_https_with_a_certificate(tmp_path: Path):
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    _make_certificate(chain, key)
    command = (
        sys.executable,
        "-m",
        "bridle",
        "hub",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--host",
        "localhost",
    )
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path)}
    program = await asyncio.create_subprocess_exec(
        *command, "--tls-cert", str(chain), "--tls-key", str(key), env=env, stdout=PIPE, stderr=PIPE
    )
    assert program.stdout is not None
    try:
        found = re.search(r"https://127.0.0.1:(\d+)", (await program.stdout.readline()).decode())
        assert found is not None
        trusted = ssl.create_default_context(cafile=str(chain))
        reader, writer = await asyncio.open_connection("localhost", int(found[1]), ssl=trusted)
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()
        assert f"https://localhost:{found[1]}/#pair=" in (await _run(tmp_path, "pair"))[1]
        # The cookie of a browser never travels in clear.
        code = await _code(tmp_path, "pair")
        body = f'{{"code": "{code}"}}'.encode()
        reader, writer = await asyncio.open_connection("localhost", int(found[1]), ssl=trusted)
        head = b"POST /api/pair HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        head += b"sec-fetch-site: same-origin\r\n"
        writer.write(head + b"content-length: %d\r\n\r\n%b" % (len(body), body))
        assert b"httponly" in (said := (await reader.read()).lower()) and b"secure" in said
        writer.close()
    finally:
        program.send_signal(SIGTERM)
        await program.communicate()


def _make_certificate(chain: Path, key: Path) -> None:
    own = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(own.public_key())
        .serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(own, hashes.SHA256())
    )  # fmt: skip
    chain.write_bytes(made.public_bytes(Encoding.PEM))
    key.write_bytes(own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
