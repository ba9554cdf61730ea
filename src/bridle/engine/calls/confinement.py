"""Limits of a command that only judgment allowed, and what happens when it exceeds them."""

from collections.abc import Callable, Mapping

from bridle.host.paths import bridle_dir
from bridle.permissions.files.protected_names import FILES, FOLDERS
from bridle.permissions.kernel_rules import denials
from bridle.types.permission import Ask, Case, Judged
from bridle.types.sandbox import Refusal, View, beyond_words
from bridle.types.workspace import Workspace

_MOST_REMEMBERED = 200


def view_of(case: Case, judged: Judged, env: Mapping[str, str]) -> View | None:
    """The view that belongs to a decision; None when something else than judgment allowed the call."""
    if not judged or case.reading is None:
        return None
    read = (case.place(path).target for part in case.reading.parts for path in part.reads)
    script = env.get("CLAUDE_ENV_FILE")
    return View(
        level=judged,
        roots=case.roots,
        readable=(*case.readable, *read, *case.reading.leaves, *((script,) if script else ())),
        protected=case.place(case.config_home).spellings if case.config_home else (),
        protected_names=FILES | FOLDERS,
        unreadable=denials(case, approved=False).unreadable,
    )


def doubt_about(refusal: str) -> Ask:
    """The question that takes the place of a judgment that was wrong."""
    return Ask(f"{refusal}. Run it without this protection?", "safetyCheck", needs_person=True)


def keeper(
    case: Case, judged: Judged, workspace: Workspace, env: Mapping[str, str], tell: Callable[[str], None]
) -> Callable[[Refusal], None]:
    """Remembers that a command tried more than it was judged to do, and keeps the case for a report."""

    def keep(refusal: Refusal) -> None:
        from bridle.host.wall.defect_log import keep_defect

        command, known = case.subject, workspace.stopped_commands
        while len(known) >= _MOST_REMEMBERED:
            known.pop(next(iter(known)))
        known[command] = beyond_words(refusal)
        file = keep_defect(bridle_dir(env), command=command, judged=judged, refusal=refusal, env=env)
        kept = "" if file is None else f" Details are in {file}."
        tell(
            f"A command was stopped: it tried to {refusal.deed}, which bridle did not expect.{kept} "
            "Please report it: bridle docs reporting."
        )

    return keep
