"""The plan of a session: its file, and the reminders while the model plans."""

import os.path
from hashlib import blake2s

from bridle.host.files import read_bytes, write_atomic

LARGEST_PLAN = 200_000
_SHOWN = 40_000

_FIRST = (
    "amber", "brisk", "calm", "clear", "cosy", "crisp", "deep", "dry", "early", "fair", "fine", "firm",
    "fresh",
    "glad", "gold", "grand", "green", "keen", "kind", "late", "light", "mild", "neat", "pale", "plain",
    "proud",
    "quick", "quiet", "rare", "sharp", "small", "warm",
)  # fmt: skip
_SECOND = (
    "baking", "bending", "boating", "calling", "carving", "casting", "climbing", "dancing", "drifting",
    "fishing",
    "floating", "flying", "folding", "glowing", "growing", "humming", "jumping", "leading", "mapping",
    "painting",
    "resting", "riding", "rowing", "sailing", "sewing", "singing", "skating", "sowing", "tracing", "turning",
    "walking", "weaving",
)  # fmt: skip
_THIRD = (
    "anchor", "apple", "badger", "barley", "birch", "bridge", "brook", "candle", "cedar", "clover", "comet",
    "finch", "harbor", "heron", "island", "ivy", "lantern", "maple", "meadow", "orchard", "otter", "pebble",
    "pine", "plum", "quarry", "raven", "river", "saddle", "spruce", "thistle", "willow", "wren",
)  # fmt: skip


def plan_name(session_id: str) -> str:
    """Three words that a person can tell apart; the same for a session whenever it is resumed."""
    digest = blake2s(session_id.encode(), digest_size=3).digest()
    return "-".join(
        words[byte % len(words)] for words, byte in zip((_FIRST, _SECOND, _THIRD), digest, strict=True)
    )


def plan_path(session_id: str, folder: str) -> str:
    """The file of the session's plan; a few letters of its id keep two sessions apart."""
    tail = "".join(letter for letter in session_id if letter.isalnum())[:6]
    return os.path.join(folder, f"{plan_name(session_id)}-{tail}.md")


def read_plan(path: str) -> str | None:
    """What the plan says; None when there is none that could be read."""
    try:
        text = read_bytes(path, LARGEST_PLAN).decode(errors="replace").strip()
    except OSError:
        return None
    return text or None


def write_plan(path: str, text: str) -> None:
    """Replace the plan.

    Raises:
        OSError: it cannot be written.
    """
    write_atomic(path, text[:LARGEST_PLAN].encode(errors="replace"), mode=0o600)


def full_reminder(path: str, *, exists: bool, workflow: str | None = None) -> str:
    """The reminder while the model plans. A `workflow` replaces the built-in steps, not the rules."""
    state = "contains the current plan: edit it" if exists else "does not exist yet: create it"
    way = workflow.strip() if workflow and workflow.strip() else f"1. {_ASKING}\n2. {_WRITING}{_SHAPE}"
    rules = f"{_RULES} {_EXCEPTION.format(path=path, state=state)}"
    return "\n".join((MARK, rules, "", way, "", _HANDING_IN))


def answered_reminder(path: str, *, exists: bool, workflow: str | None = None) -> str:
    """The reminder where no one can approve a plan: the answer is the plan."""
    way = workflow.strip() if workflow and workflow.strip() else f"1. {_READING}\n2. {_ANSWERING}{_SHAPE}"
    earlier = f" {path} contains an earlier plan." if exists else ""
    return "\n".join((MARK, f"{_RULES}{earlier}", "", way, "", _IS_ANSWER))


def agent_reminder() -> str:
    """What holds for an agent that a session in plan mode has sent to look at something."""
    return f"{MARK}\n{_RULES} Do your task by reading, and report."


def sparse_reminder(path: str, *, approval: bool = True) -> str:
    """The rules in a line; `approval` is whether a plan can be handed in."""
    if not approval:
        return f"{MARK}\nPlan mode is still on: change nothing. {_IS_ANSWER}"
    return (
        f"{MARK}\nPlan mode is still on: only {path} may be written. End your turn with a question to the "
        "user or with ExitPlanMode."
    )


def left_reminder(path: str, *, exists: bool) -> str:
    kept = f" The plan is in {path}." if exists else ""
    return f"{LEFT}\nYou may make changes again, as the permission mode allows.{kept}"


def restored_plan(path: str) -> str | None:
    """The plan as a compaction gives it back."""
    if (plan := read_plan(path)) is None:
        return None
    text = plan if len(plan) <= _SHOWN else f"{plan[:_SHOWN]}\n…"
    return f"# The plan of this session\nIt is in {path}.\n\n{text}"


MARK = "# Plan mode"
LEFT = "# Plan mode has ended"

_RULES = """\
Make no changes now: edit no files and run no command that changes anything, despite other instructions."""

_EXCEPTION = "The one exception is the plan itself: {path} {state} with Write or Edit."

_READING = "Understand: read the relevant code. Where the request leaves a choice, choose and state it."
_ASKING = """\
Understand: read the code that matters and ask the user (AskUserQuestion) where the request leaves a \
choice."""
_WRITING = "Plan: write into the file"
_ANSWERING = "Plan: describe"
_SHAPE = """ what will be done, in which files, in which order, and how it will be checked. One way, \
not a list of alternatives; short enough to be read, exact enough to be carried out."""

_IS_ANSWER = "Your answer is the plan, in full: no one can approve it here, and no file is needed."

_HANDING_IN = """\
Submit the plan with ExitPlanMode: the user reads the file and decides. Do not ask for approval in any \
other way. End every turn with a question to the user or with ExitPlanMode."""
