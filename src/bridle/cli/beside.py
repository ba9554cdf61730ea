"""Makes the place for what runs beside a conversation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridle.cli import choices
from bridle.cli.ground import Ground
from bridle.engine.beside import Around, Beside
from bridle.types.event import Noticed

if TYPE_CHECKING:
    from bridle.types.schedule import Scheduled


def open_beside(ground: Ground) -> Beside:
    """The place for schedules, monitors and language servers; none of them runs yet."""
    setup = ground.setup
    args, env = setup.args, setup.env
    return Beside(
        Around(
            workspace=ground.workspace,
            project=setup.cwd,
            storage=ground.storage,
            env=env,
            wake=ground.wake,
            tell=lambda text: ground.channel.emit(Noticed(text)),
            trusted=setup.trusted,
            lasting=args.on("interactive") or args.text("input-format") == "stream-json",
            closed=choices.is_closed(args, env),
            sandbox=ground.sandbox,
            language_servers=ground.plugins.language_servers,
            monitors=ground.plugins.monitors,
            recall_scheduled=lambda: ground.session.state.scheduled,
            keep_scheduled=lambda scheduled: _keep(ground, scheduled),
        )
    )


def _keep(ground: Ground, scheduled: "Sequence[Scheduled]") -> None:
    from bridle.sessions.scheduled import note_scheduled

    note_scheduled(ground.session, scheduled)
