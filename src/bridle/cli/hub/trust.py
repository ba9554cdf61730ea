"""`bridle hub trust`: which devices may read what this machine sends, so that the hub cannot."""

import asyncio
import secrets
from collections.abc import Mapping

from bridle.cli.hub.pictures import show_link
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.hub.machine.client import HubClient, HubRefused, HubUnreachable
from bridle.frontends.hub.machine.encryption import (
    Keyring,
    is_proof,
    load_keyring,
    new_keyring,
    save_keyring,
)
from bridle.frontends.hub.machine.membership import Membership, load_membership
from bridle.types.errors import UsageError

_WAIT_SECONDS = 600.0
_LOOK_SECONDS = 1.0


def trust_device(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show a code by which one device gets the keys of this machine, and wait for it."""
    membership = load_membership(env)
    known = load_keyring(env)
    if given.on("list"):
        devices = {} if known is None else known.devices
        lines = [f"{id}  {each.name}" for id, each in devices.items()]
        return tell(*(lines or ["No device has keys. Let one read with: bridle hub trust"]))
    try:
        return asyncio.run(_trust(membership, known or new_keyring(), env))
    except (HubRefused, HubUnreachable) as fault:
        raise UsageError(f"can't reach {membership.url}: {fault}") from fault


def distrust_device(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Take a device out, and change the keys."""
    membership, keyring, wanted = load_membership(env), load_keyring(env), given.one("device")
    known = {} if keyring is None else keyring.devices
    found = [id for id, each in known.items() if wanted in (id, each.name)]
    if keyring is None or len(found) != 1:
        raise UsageError(f"unknown device {wanted!r}: see bridle hub trust --list")
    changed = keyring.without(found[0])
    save_keyring(env, changed)
    try:
        asyncio.run(_hand_out(membership, changed, env))
    except (HubRefused, HubUnreachable) as fault:
        raise UsageError(f"the keys are changed, but {membership.url} does not know it: {fault}") from fault
    return tell(f"{known[found[0]].name} can't read sessions that begin from now on.")


async def _trust(membership: Membership, keyring: Keyring, env: Mapping[str, str]) -> int:
    client, secret = HubClient(membership.url, membership.key, env), secrets.token_urlsafe(16)
    try:
        machine = await client.whoami()
        show_link(f"{membership.url}/#trust={machine}.{keyring.public}.{secret}")
        say(
            "Open this on a device that is paired with the hub, within ten minutes. The part behind the #\n"
            "never reaches the hub. Waiting for the device …\n"
        )
        async with asyncio.timeout(_WAIT_SECONDS):
            device = await _wait_for_device(client, secret, keyring)
        changed = keyring.trusting(device["id"], device["name"], device["public"])
        save_keyring(env, changed)
        await client.hand_out(_rings(changed))
    except TimeoutError as error:
        raise UsageError("no device has opened the link: run bridle hub trust again") from error
    finally:
        await client.close()
    return tell(
        f"{device['name']} can read and encrypt for this machine. Sessions that begin from now on are",
        "encrypted; start bridle hub agent anew for the names of folders.",
    )


async def _wait_for_device(client: HubClient, secret: str, keyring: Keyring) -> dict[str, str]:
    """The first device that proves that it has seen the secret; all others are passed over."""
    while True:
        for device in await client.waiting_keys():
            if is_proof(device["proof"], secret, keyring.public, device["public"]):
                return device
        await asyncio.sleep(_LOOK_SECONDS)


async def _hand_out(membership: Membership, keyring: Keyring, env: Mapping[str, str]) -> None:
    client = HubClient(membership.url, membership.key, env)
    try:
        await client.hand_out(_rings(keyring))
    finally:
        await client.close()


def _rings(keyring: Keyring) -> dict[str, str]:
    return {id: keyring.wrapped(each.public) for id, each in keyring.devices.items()}
