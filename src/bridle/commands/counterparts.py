"""Commands that other products leave to a hosted service, and that work on this machine here."""

import os.path

from bridle.commands.context import CommandContext
from bridle.commands.prompts import asks
from bridle.host.files import make_folders, write_new
from bridle.types.command import CommandResult, Says
from bridle.types.errors import UsageError
from bridle.types.services.schedules import SCHEDULES
from bridle.version import __version__

_WORKFLOW = os.path.join(".github", "workflows", "bridle.yml")
_TEXTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "texts")


async def schedule(arguments: str, context: CommandContext) -> CommandResult:
    """Schedule a prompt on this machine, or list those that are scheduled."""
    if arguments:
        return asks("schedule", arguments)
    schedules = context.runtime.features.find(SCHEDULES)
    found = () if schedules is None else schedules.all()
    if not found:
        return Says(
            "Nothing is scheduled. Say what and when: /schedule run the tests every morning at 9. "
            "Scheduled prompts run in a session of this folder that stays open."
        )
    return Says("\n".join(f"{each.id}: {each.words}: {each.prompt[:200]}" for each in found))


async def watch_pull_request(arguments: str, context: CommandContext) -> CommandResult:
    del context
    return asks("autofix-pr", arguments)


async def deep_review(arguments: str, context: CommandContext) -> CommandResult:
    del context
    return asks("ultrareview", arguments)


async def github_workflow(arguments: str, context: CommandContext) -> CommandResult:
    """Write a workflow that runs bridle in GitHub Actions.

    Raises:
        UsageError: the folder is no repository, or the file cannot be written.
    """
    del arguments
    root = context.workspace.start
    if not os.path.exists(os.path.join(root, ".git")):
        raise UsageError("Not the root of a git repository. Start bridle there and run this again.")
    path = os.path.join(root, _WORKFLOW)
    with open(os.path.join(_TEXTS, "github_workflow.yml"), "rb") as file:
        text = file.read()
    try:
        make_folders(os.path.dirname(path), private=False)
        write_new(path, text, mode=0o644)
    except FileExistsError as error:
        raise UsageError(f"{_WORKFLOW} exists already. Delete or rename it to write a new one.") from error
    except OSError as error:
        raise UsageError(f"Could not write {_WORKFLOW}: {error.strerror}.") from error
    return Says(
        f"Wrote {_WORKFLOW}: bridle answers issues labeled bridle and comments that begin with /bridle.\n"
        "Next: gh secret set ANTHROPIC_API_KEY, then commit and push the file."
    )


async def share(arguments: str, context: CommandContext) -> CommandResult:
    """Open this session to a browser, of a phone or of this machine.

    Raises:
        UsageError: remote control is off.
    """
    command = context.commands.find("remote-control")
    if command is None:
        raise UsageError("Remote control is off (disableRemoteControl), so no browser can join this session.")
    return await command.run(arguments, context)


async def logout(arguments: str, context: CommandContext) -> CommandResult:
    """Remove stored keys: that of one vendor, or all.

    Raises:
        UsageError: there is no stored key of this vendor.
        ConfigError: a key cannot be removed.
    """
    from bridle.providers.credentials.store import Credentials

    credentials = Credentials(context.env)
    stored = list(credentials.vendors())
    name = arguments.strip().lower()
    if not stored:
        return Says("No key is stored. Keys in variables and settings are not changed.")
    if not name:
        return Says(f"Stored keys: {', '.join(stored)}. Remove one with /logout <vendor>, or /logout all.")
    chosen = stored if name == "all" else [name]
    removed = [each for each in chosen if credentials.forget(each)]
    if not removed:
        raise UsageError(f"No stored key for {name}. Stored keys: {', '.join(stored)}.")
    return Says(f"Removed the key of {', '.join(removed)}. Keys in variables are not changed.")


async def privacy(arguments: str, context: CommandContext) -> CommandResult:
    """What leaves this machine, and how to stop it."""
    del arguments
    from bridle.commands.queries.privacy import privacy_lines

    return Says("\n".join(privacy_lines(context.settings.config(), context.env, context.session.state.model)))


async def upgrade(arguments: str, context: CommandContext) -> CommandResult:
    """How this installation is updated."""
    del arguments, context
    from bridle.config.installation import this_installation

    installed = this_installation(__version__)
    command = installed.command()
    how = "bridle update" if command is not None else "the way you installed it"
    return Says(f"bridle {installed.version}, {installed.summary}. Update with: {how}")
