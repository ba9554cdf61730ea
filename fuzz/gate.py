"""One campaign against the gate: commands are made, decided in this process, and the allowed ones run."""

import gc
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from bridle.permissions.preparation import SessionPosition
from bridle.permissions.rules import parse
from bridle.permissions.shell.bulk_decisions import runs_unasked
from bridle.types.permission import Effect, Mode
from fuzz.commands import Maker, TokenMaker
from fuzz.denials import DenialMaker
from fuzz.edits import EditMaker
from fuzz.mutations import Mutator
from fuzz.option_tables import OptionMaker
from fuzz.playground import Playground
from fuzz.runner import Runner

CORPUS = Path(__file__).with_name("corpus")
FOUND = CORPUS / "found.jsonl"
_GATE = Path(__file__).parents[1] / "tests" / "permissions" / "corpus"
CAMPAIGNS = ("read", "edit", "deny")
_MARKS = {
    "read": (
        "pwned",
        "outside",
        "link",
        ".profile",
        "TOKEN",
        "env",
        "/dev/t",
        "bare",
        "pointer",
        ".e",
        "q",
        "nowhere",
    ),
    "edit": ("..", "link", ".git", ".claude", "through", "payload", "~", "HOME", ".env", "bare", ".GIT"),
    "deny": ("ev", "vil", "65", "145"),
}
"""Texts that most commands hold that could touch a canary."""
_ROUND = 32
_MOST_QUEUED = 500
_MODES: dict[str, Mode] = {"read": "default", "edit": "acceptEdits", "deny": "bypassPermissions"}


class Hole(Struct, frozen=True):
    """A command that was allowed and did what it must not do."""

    campaign: str
    command: str
    did: tuple[str, ...]


class Tally(Struct):
    """What a campaign came to."""

    decided: int = 0
    allowed: int = 0
    ran: int = 0
    hung: int = 0
    seconds_deciding: float = 0.0
    """Processor time of this process: making commands and deciding about them."""
    seconds: float = 0.0
    """Time that passed."""
    patient: bool = False
    """Enough is decided: wait for the sandbox instead of deciding more."""
    holes: list[Hole] = []


class Decider:
    """Decides as a session in the playground would."""

    def __init__(self, playground: Playground, campaign: str) -> None:
        denied = "Bash(evil:*)" if campaign == "deny" else "Read(.env)"
        self.standing = SessionPosition(
            rules=(parse(denied, Effect.DENY, "userSettings"),),
            mode=_MODES[campaign],
            cwd=playground.project,
            start=playground.project,
            roots=(playground.project,),
            home=playground.home,
            config_home=f"{playground.home}/.claude",
        )

    def may_run(self, command: str) -> bool:
        """Whether the command runs unasked."""
        return runs_unasked(command, self.standing)


def sources(campaign: str, playground: Playground, choose: random.Random) -> tuple[Callable[[], str], ...]:
    """Where the commands of a campaign come from, each as often as it stands here."""
    mutated = Mutator(seeds(campaign), choose).command
    if campaign == "edit":
        edits = EditMaker(choose).command
        return (edits, edits, mutated)
    if campaign == "deny":
        denials = DenialMaker(choose, playground.programs).command
        return (denials, denials, mutated)
    made, options, tokens = Maker(choose).command, OptionMaker(choose).command, TokenMaker(choose).command
    return (made, made, mutated, mutated, options, tokens, tokens)


def seeds(campaign: str) -> list[str]:
    """The commands that mutations start from: what was found before, and the corpora of the tests."""
    kept = [each.command for each in found() if each.campaign == campaign]
    if campaign != "read":
        return kept + [line.replace("⏎", "\n") for line in _lines(CORPUS / f"{campaign}.txt")]
    everyday = [
        line.removeprefix("free  ")
        for name in ("ordinary.txt", "reading.txt")
        for line in _lines(_GATE / name)
        if line.startswith("free  ")
    ]
    attacks = [line.replace("\\n", "\n") for line in _lines(_GATE / "attacks.txt")]
    return [*kept, *(line.replace("⏎", "\n") for line in everyday), *attacks]


def found() -> list[Hole]:
    """What campaigns have found so far, each in its smallest form."""
    lines = FOUND.read_bytes().splitlines() if FOUND.exists() else []
    return [msgspec.json.decode(line, type=Hole) for line in lines]


def run_campaign(
    campaign: str,
    playground: Playground,
    *,
    seed: int,
    until: Callable[[Tally], bool],
    runner: Runner | None,
    told: Callable[[Hole], None] = lambda _: None,
) -> Tally:
    """Decide until `until` says that it is enough; the sandbox runs what is allowed meanwhile."""
    choose = random.Random(seed)
    # Hardly anything that deciding makes refers to itself: looking for what does costs a fifth of the time.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    decider, tally, queue = Decider(playground, campaign), Tally(), Queue(_MARKS[campaign])
    began, began_at = time.process_time(), time.monotonic()
    for command in commands(campaign, playground, choose):
        tally.decided += 1
        if decider.may_run(command):
            tally.allowed += queue.add(command)
        if tally.decided % _ROUND:
            continue
        tally.seconds_deciding, tally.seconds = time.process_time() - began, time.monotonic() - began_at
        if runner is not None:
            for hole in _let_run(campaign, queue, runner, tally):
                smallest = shrink(hole, decider, runner)
                if smallest.command not in {each.command for each in tally.holes}:
                    tally.holes.append(smallest)
                    told(smallest)
        if until(tally):
            break
    return tally


class Queue:
    """Allowed commands that wait for the sandbox, each once: those that name a canary come first.

    Deciding is much faster than running, so what has waited too long is dropped.
    """

    def __init__(self, marks: tuple[str, ...]) -> None:
        self._marks = marks
        self._seen: set[int] = set()
        self._first: deque[str] = deque(maxlen=_MOST_QUEUED)
        self._others: deque[str] = deque(maxlen=_MOST_QUEUED)

    def add(self, command: str) -> bool:
        """Keep a command, unless it was here before."""
        key = hash(command)
        if key in self._seen:
            return False
        self._seen.add(key)
        named = any(mark in command for mark in self._marks)
        (self._first if named else self._others).append(command)
        return True

    def take(self) -> str | None:
        """The next command to run."""
        if self._first:
            return self._first.pop()
        return self._others.pop() if self._others else None


def _let_run(campaign: str, queue: Queue, runner: Runner, tally: Tally) -> list[Hole]:
    """Give the sandbox as much as it can take, and look at what it has run."""
    while not runner.is_full and (command := queue.take()) is not None:
        runner.send(command)
    answers = runner.answers(wait=tally.patient)
    tally.ran += len(answers)
    tally.hung += sum("hangs" in did for _, did in answers)
    wrong = [Hole(campaign, command, wrongs) for command, did in answers if (wrongs := _wrongs(did))]
    while wrong and (more := runner.answers(wait=True)):
        # To cut a hole down, nothing else may be running.
        tally.ran += len(more)
        wrong += [Hole(campaign, command, wrongs) for command, did in more if (wrongs := _wrongs(did))]
    return wrong


def shrink(hole: Hole, decider: Decider, runner: Runner) -> Hole:
    """The same hole with every piece taken out that it does not need."""
    command, did = hole.command, hole.did
    size = max(1, len(command) // 2)
    while size:
        start = 0
        while start < len(command):
            shorter = command[:start] + command[start + size :]
            if shorter.strip() and decider.may_run(shorter) and (does := _wrongs(runner.run(shorter))):
                command, did = shorter, does
            else:
                start += size
        size //= 2
    return Hole(hole.campaign, command, did)


def commands(campaign: str, playground: Playground, choose: random.Random) -> Iterator[str]:
    """The commands of a campaign, without an end."""
    makers = sources(campaign, playground, choose)
    while True:
        yield choose.choice(makers)()


def _lines(file: Path) -> list[str]:
    return [
        line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    ]


def _wrongs(did: list[str]) -> tuple[str, ...]:
    return tuple(each for each in did if each != "hangs")
