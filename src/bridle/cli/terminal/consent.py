"""What the user is asked before a session at the terminal begins."""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.config import approvals, schedules
from bridle.config.mcp.variables import approve_variables, given_variables, withheld
from bridle.config.state import trust_root
from bridle.config.trust import approve_all_content, brought_by, trust, unapproved
from bridle.context.instructions import load
from bridle.frontends.tui.app import GUARD_SECONDS, App
from bridle.frontends.tui.render.call import short_path
from bridle.host.files import read_bytes
from bridle.host.paths import config_home
from bridle.session import choices, permission_choices
from bridle.session.parts.briefing import instruction_scope
from bridle.session.setup import Setup
from bridle.types.errors import ConfigError

if TYPE_CHECKING:
    from bridle.frontends.tui.dialogs.confirm import Confirm
    from bridle.frontends.tui.screens.conversation.resume import Resume

# Few starts ask anything: the dialogs are imported by those that do.

_LARGEST = 2 << 20
_MOST_SCHEDULES = 50


async def ask_for_trust(app: App, setup: Setup, warn: Callable[[str], None]) -> Mapping[str, str] | None:
    """The environment in which the folder is trusted, None where the user does not trust it.

    Where that cannot be saved, the folder is trusted for this run.
    """
    from bridle.frontends.tui.dialogs.consent import trust_folder

    brought = await asyncio.to_thread(brought_by, setup.env, setup.cwd)
    picked = await _ask(app, trust_folder(trust_root(setup.env, setup.cwd), brought))
    if picked != "trust":
        return None
    try:
        await asyncio.to_thread(trust, setup.env, setup.cwd, given=None)
    except OSError as error:
        folder = short_path(config_home(setup.env), "")
        warn(f"Can't save trust in {folder} ({error.strerror}): this folder is trusted for this run only.")
        return {**setup.env, "BRIDLE_TRUST_FOLDER": trust_root(setup.env, setup.cwd)}
    return setup.env


async def ask_for_changes(app: App, setup: Setup) -> bool:
    """Let the user approve what is new or has changed in a trusted folder; whether they did.

    Raises:
        ConfigError: the answer cannot be saved.
    """
    changed = await asyncio.to_thread(unapproved, setup.env, setup.cwd, servers=False)
    if not changed:
        return False
    from bridle.frontends.tui.dialogs.consent import approve_changes

    if await _ask(app, approve_changes(trust_root(setup.env, setup.cwd), changed)) != "approve":
        return False
    try:
        await asyncio.to_thread(approve_all_content, setup.env, setup.cwd, servers=False)
    except OSError as error:
        raise ConfigError(f"can't save trust in {config_home(setup.env)}: {error.strerror}") from error
    return True


async def ask_for_bypass(app: App, setup: Setup) -> bool:
    """Whether to continue without permission questions; True where that mode is not requested."""
    mode = permission_choices.choose_mode(setup.options, setup.config, setup.env)
    if mode != "bypassPermissions" or setup.config.settings.skip_dangerous_mode_permission_prompt:
        return True
    from bridle.frontends.tui.dialogs.consent import bypass_warning

    return await _ask(app, bypass_warning()) == "accept"


async def ask_for_servers(app: App, setup: Setup) -> None:
    """Let the user approve servers of the project that are new or have changed."""
    from bridle.config.mcp.locations import is_any_configured

    options, env = setup.options, setup.env
    if choices.is_closed(options, env) or options.strict_mcp_config:
        return
    if not is_any_configured(setup.config.inputs, env):
        return
    from bridle.config.mcp.servers import WAITING, ServerSources, find_servers
    from bridle.frontends.tui.dialogs.consent import approve_server

    sources = ServerSources(config=setup.config, env=env, trusted=setup.trusted, attended=True)
    found = await asyncio.to_thread(find_servers, sources)
    all_at_once = False
    for server in found.servers:
        if server.scope != "project" or server.off != WAITING:
            continue
        definition = _definition(server.file or "", server.name)
        changed = approvals.is_known(env, setup.cwd, kind="mcp", name=server.name)
        kept_back = withheld(env, setup.cwd, name=server.name, raw=definition)
        # One yes for all servers names no credentials.
        if all_at_once and not kept_back:
            picked: str | None = "yes"
        else:
            given = given_variables(definition, env)
            picked = await _ask(app, approve_server(server.name, definition, given=given, changed=changed))
        all_at_once = all_at_once or picked == "all"
        if picked in ("yes", "all"):
            approvals.approve(env, setup.cwd, kind="mcp", name=server.name, definition=definition)
            if kept_back:
                approve_variables(env, setup.cwd, name=server.name, raw=definition)


async def ask_for_schedules(app: App, setup: Setup) -> None:
    """Let the user approve scheduled prompts of the project that are new or have changed.

    Raises:
        ConfigError: the answer cannot be saved.
    """
    env, cwd = setup.env, setup.cwd
    if (
        not setup.trusted
        or choices.is_closed(setup.options, env)
        or not os.path.exists(schedules.schedule_file(cwd))
    ):
        return
    from bridle.frontends.tui.dialogs.consent import approve_schedule

    try:
        found = await asyncio.to_thread(schedules.read_schedules, cwd)
    except (OSError, ValueError):
        return  # The session says so.
    for entry in found[:_MOST_SCHEDULES]:
        if schedules.is_approved(env, cwd, entry):
            continue
        changed = schedules.was_approved(env, cwd, entry)
        dialog = approve_schedule(entry["id"], schedules.content(entry), changed=changed)
        if await _ask(app, dialog) != "yes":
            continue
        try:
            schedules.approve(env, cwd, entry)
        except OSError as error:
            raise ConfigError(f"can't save the answer: {error.strerror} ({error.filename})") from error


async def ask_for_imports(app: App, setup: Setup) -> None:
    """Let the user agree to files outside the project that its instructions import; each is asked about once.

    Raises:
        ConfigError: the answer cannot be saved.
    """
    if choices.is_closed(setup.options, setup.env):
        return
    roots = choices.choose_roots(setup.options, setup.config, setup.cwd, trusted=setup.trusted)
    outside = (await asyncio.to_thread(load, instruction_scope(setup, roots))).outside
    new = [path for path in outside if not approvals.is_known(setup.env, setup.cwd, kind="import", name=path)]
    if not new:
        return
    from bridle.frontends.tui.dialogs.consent import import_outside

    agreed = await _ask(app, import_outside(new, setup.cwd)) == "yes"
    for path in new:
        try:
            approvals.approve(setup.env, setup.cwd, kind="import", name=path, definition=agreed)
        except OSError as error:
            raise ConfigError(f"can't save the answer: {error.strerror} ({error.filename})") from error


async def choose_session(app: App, setup: Setup) -> "Setup | Resume | None":
    """The set-up with the conversation that the user picked; None when they want none.

    For a conversation of another folder it is what was picked: its files, settings and trust are those of
    that folder.
    """
    if setup.options.resume is not True:
        return setup
    from bridle.frontends.tui.screens.session_picker import pick_session

    chosen = await pick_session(app, cwd=setup.cwd, env=setup.env)
    if chosen is None:
        return None
    if chosen.command:
        return chosen
    fork = setup.options.fork_session or chosen.fork
    options = msgspec.structs.replace(setup.options, resume=chosen.session_id, fork_session=fork)
    return msgspec.structs.replace(setup, options=options)


async def _ask(app: App, dialog: "Confirm") -> str | None:
    picked = await app.open(dialog, guard=GUARD_SECONDS, on_armed=dialog.panel.arm)
    return None if picked is None else picked.value


def _definition(file: str, name: str) -> Mapping[str, Any]:
    """A server as its file defines it, before variables are filled in."""
    try:
        found = msgspec.json.decode(read_bytes(os.path.expanduser(file), _LARGEST), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return {}
    servers = found.get("mcpServers")
    definition = servers.get(name) if isinstance(servers, dict) else None
    return definition if isinstance(definition, dict) else {}
