"""`bridle hub join` and `bridle hub agent`: this machine at a hub."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from time import strftime

from bridle.cli.remote.server_mode import STREAMS
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.load import load
from bridle.config.state import is_trusted
from bridle.features.teams.peers import socket_path
from bridle.frontends.hub.machine.agent import (
    AgentOptions,
    FolderFacts,
    Keys,
    MachineAgent,
    Spawner,
    environment_facts,
)
from bridle.frontends.hub.machine.client import HubClient, HubRefused, HubUnreachable
from bridle.frontends.hub.machine.joined import JoinedSessions
from bridle.frontends.hub.machine.membership import (
    Folder,
    Membership,
    Pointers,
    load_membership,
    machine_folder,
    membership_path,
    read_hub_url,
    save_membership,
)
from bridle.frontends.remote.child_session import ChildOptions, ChildSession
from bridle.frontends.remote.joining import agent_socket
from bridle.host.git.commands import run_git
from bridle.host.git.repository import current_branch
from bridle.types.errors import UsageError
from bridle.types.ids import new_uuid

_CAPACITY = 32


def join_hub(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Exchange a code for a key, and serve the folders that were named."""
    url, name = read_hub_url(given.one("url")), given.text("name") or os.uname().nodename
    code = given.one("code")
    if code == "-":
        code = sys.stdin.readline().strip()
    folders = [] if given.on("no-folder") else _named_folders(given)
    for folder in folders:
        _check_folder(folder, env)
    key = asyncio.run(_join(url, code, name, env))
    membership = Membership(url, key, name, tuple(Folder(each, new_uuid()) for each in folders))
    save_membership(env, membership)
    tell(f"{name} joined {url}. The key is in {membership_path(env)}.")
    if given.on("no-run"):
        return tell("Serve its folders with: bridle hub agent")
    return _run(membership, _capacity(given), env)


def run_agent(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Serve the folders of this machine until a signal ends it."""
    membership = load_membership(env)
    for path in given.all("folder"):
        folder = os.path.realpath(path)
        _check_folder(folder, env)
        if all(each.path != folder for each in membership.folders):
            membership = membership.with_folder(Folder(folder, new_uuid()))
    for path in given.all("remove-folder"):
        membership = membership.without(os.path.realpath(path))
    save_membership(env, membership)
    if given.on("list"):
        return tell(membership.url, *(each.path for each in membership.folders))
    return _run(membership, _capacity(given), env)


def _run(membership: Membership, capacity: int, env: Mapping[str, str]) -> int:
    try:
        return asyncio.run(_serve(membership, capacity, env))
    except HubRefused as refusal:
        if refusal.status == 401:
            raise UsageError(f"{refusal} (bridle hub join {membership.url} CODE)") from refusal
        raise


async def _serve(membership: Membership, capacity: int, env: Mapping[str, str]) -> int:
    client, stopped = HubClient(membership.url, membership.key, env), asyncio.Event()
    uploads, pointers = os.path.join(machine_folder(env), "uploads"), Pointers(env)
    keys = Keys(env)
    joined = JoinedSessions(
        client, pointers, agent_socket(env), uploads=uploads, machine=membership.name, seal=keys.link,
        note=_note,
    )  # fmt: skip
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    agent = MachineAgent(
        client, membership, _spawner(env), pointers, AgentOptions(capacity=capacity, upload_folder=uploads),
        joined=joined, keys=keys, note=_note,
    )  # fmt: skip
    say(f"Connected to {membership.url} as {membership.name}. Stop it and its sessions with ctrl+c.\n")
    working, waiting = asyncio.create_task(agent.run()), asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait([working, waiting], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    except HubUnreachable as fault:
        raise UsageError(f"the hub has not answered for ten minutes: {fault}") from fault
    finally:
        for task in (working, waiting):
            task.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)
        await client.close()
    return 0


def _spawner(env: Mapping[str, str]) -> Spawner:
    async def start(folder: str, flags: Sequence[str], name: str) -> ChildSession:
        socket = socket_path(env, new_uuid())
        child = ChildSession(
            ChildOptions(
                argv=(sys.executable, "-P", "-m", "bridle", *STREAMS, *flags),
                cwd=folder,
                # It is at the hub already.
                env={
                    **env,
                    "CLAUDE_CODE_MESSAGING_SOCKET": socket,
                    "BRIDLE_JOIN_HUB": "0",
                    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1",
                },
                socket=socket,
                name=name,
                report=_note,
            )
        )
        await child.start()
        return child

    return Spawner(start, lambda folder: _facts(folder, env), lambda folder: is_trusted(env, folder))


async def _facts(folder: str, env: Mapping[str, str]) -> FolderFacts:
    remote = await run_git(folder, env, "config", "--get", "remote.origin.url")
    branch = await asyncio.to_thread(current_branch, folder)
    return environment_facts(branch, remote.output.strip() if remote.ok else "")


async def _join(url: str, code: str, name: str, env: Mapping[str, str]) -> str:
    client = HubClient(url, "", env)
    try:
        return (await client.join(code, name))["key"]
    except (HubRefused, HubUnreachable) as fault:
        raise UsageError(f"can't join {url}: {fault}") from fault
    finally:
        await client.close()


def _named_folders(given: ParsedArguments) -> list[str]:
    return list(dict.fromkeys(os.path.realpath(each) for each in given.all("folder") or ["."]))


def _check_folder(folder: str, env: Mapping[str, str]) -> None:
    if not os.path.isdir(folder):
        raise UsageError(f"{folder} is not a folder")
    if not is_trusted(env, folder):
        raise UsageError(f"{folder} is not trusted yet: run bridle trust there")
    if load(cwd=folder, env=env, flag=None, setting_sources=None).settings.disable_remote_control:
        raise UsageError("remote control is turned off by the setting disableRemoteControl")


def _capacity(given: ParsedArguments) -> int:
    return given.whole("capacity") or _CAPACITY


def _note(text: str) -> None:
    tell(f"{strftime('%H:%M')}  {text}")
