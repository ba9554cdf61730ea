"""`bridle rewind`: put a conversation and its files back as they were at a prompt, or take that back."""

import asyncio
from collections.abc import Mapping

from bridle.cli.say import tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.commands import history
from bridle.commands.context import CommandContext
from bridle.config.options import SessionOptions
from bridle.host.stdio import complain
from bridle.session.host import Host
from bridle.session.open import open_session
from bridle.types.errors import UsageError
from bridle.types.event import Event
from bridle.types.question import Answer, Question, Refused
from bridle.types.services.checkpoints import Rewound

_KEEPS_FILES = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"


def run_rewind(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Rewind, redo, or list what there is to go back to.

    Raises:
        UsageError: options contradict each other, or there is no such prompt.
        SessionError: there is no such conversation, or others have changed files since.
    """
    chosen = [name for name in ("redo", "branches", "branch") if given.has(name)]
    number = given.text("number")
    if len(chosen) + (number is not None) > 1:
        raise UsageError("Give a prompt, --redo, --branches or --branch, one of them.")
    if given.on("files") and given.on("conversation"):
        raise UsageError("Without --files and --conversation both go back; give one of them at most.")
    return asyncio.run(_run(given, env))


async def _run(given: ParsedArguments, env: Mapping[str, str]) -> int:
    name = given.text("session")
    options = SessionOptions(resume=name, continue_newest=name is None)
    host = Host(env={**env, _KEEPS_FILES: "1"}, warn=complain, greets=False)
    async with open_session(options, _Silence(), host=host) as live:
        context = live.commands.context()
        force = given.on("force")
        if given.on("redo"):
            return tell(await history.redo_newest(context.session, context.runtime, force=force))
        if given.on("branches"):
            return tell(*(await history.list_branches(context)).split("\n"))
        if (branch := given.text("branch")) is not None:
            return tell(await history.take_branch(branch, context))
        points = history.rewind_points(context)
        number = given.text("number")
        if number is None:
            rows = [
                f"{point.number:>4}  {point.timestamp[:16].replace('T', ' ')}  {point.text}"
                for point in points
            ]
            return tell(*(rows or ["Nothing to rewind to."]))
        point = next((each for each in points if str(each.number) == number), None)
        if point is None:
            raise UsageError(f"There is no prompt {number}: bridle rewind lists them, 1 is the newest.")
        if given.on("dry-run"):
            return _show(await _preview(point.uuid, context))
        what = "code" if given.on("files") else "conversation" if given.on("conversation") else "both"
        return tell(await history.rewind_to(point.uuid, what, context, force=force))


async def _preview(uuid: str, context: CommandContext) -> Rewound:
    return await history.preview_rewind(uuid, context) or Rewound()


def _show(change: Rewound) -> int:
    lines = [
        f"would change {len(change.files_changed):,} files, +{change.insertions} −{change.deletions} lines"
    ]
    lines += (f"  {path}" for path in change.files_changed)
    lines += (f"  changed by another program: {path}" for path in change.foreign)
    lines += (f"  no copy was kept: {path}" for path in change.unkept)
    lines += (f"  a link now, left alone: {path}" for path in change.skipped_links)
    return tell(*lines)


class _Silence:
    """Shows nothing and allows nothing."""

    def emit(self, event: Event) -> None:
        """What happens is of no interest here."""

    async def ask(self, question: Question) -> Answer:
        del question
        return Refused(message="Nothing runs here.", by_person=False)
