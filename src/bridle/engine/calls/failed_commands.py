"""Tells shell commands that failed from those whose exit code is an answer, such as a test run."""

import re

from bridle.permissions.preparation import read_command
from bridle.permissions.shell.syntax.nodes import Command, Node, Pipeline
from bridle.permissions.shell.syntax.parser import read_script
from bridle.permissions.word_lists import listed
from bridle.types.shell import Part, Reading

_HIGHEST_ANSWER = 125
"""Higher codes say that a command could not be run or was killed."""
_ANSWERING = listed(
    """
    grep egrep fgrep zgrep rg ag ack diff colordiff sdiff cmp test [ [[ which type find pgrep
    pytest py.test unittest nosetests nose2 tox nox trial behave robot doctest
    jest vitest mocha ava tap karma jasmine cypress playwright
    rspec minitest cucumber phpunit pest ctest bats busted prove gotestsum nextest
    ruff mypy dmypy pyright basedpyright flake8 pylint pycodestyle pydocstyle pyflakes bandit black isort
    eslint tsc vue-tsc stylelint prettier biome golangci-lint staticcheck rubocop shellcheck hadolint
    yamllint markdownlint actionlint phpstan psalm ktlint detekt pre-commit coverage
    """
)
"""Programs that say with their exit code what they found."""
_TASK_RUNNERS = listed(
    """
    npm pnpm yarn bun deno npx nx turbo lerna hatch pdm poe just task rake rails mage invoke inv
    make gmake ninja gradle gradlew mvn mvnw sbt lein ant cargo go dotnet swift mix stack cabal zig flutter
    dart bazel bazelisk buck2 pants meson crystal dune gleam forge manage.py setup.py
    """
)
"""Programs that run something by its name."""
_TASK = re.compile(
    r"(?:\S+[:._-])?(?:t|tests?|specs?|checks?|lint|typecheck|verify|vet|clippy|e2e|unit|nextest)(?:[:._-]\S*)?"
)
"""The names of tasks that only look whether all is well."""
_DOES_MORE = listed("install i ci add remove build publish deploy release push create init clean")
_TEST_SCRIPT = re.compile(
    r"(?:(?:ba|z|da)?sh (?:-\w+ )*|(?:python[\d.]*|node|ruby|perl) (?:-\w+ )*|)"
    r"(?:\S*/)?(?:run_?tests?|tests?|test_\S+|\S+_tests?)\.(?:py|sh|js|ts|rb|pl)(?: .*)?",
    re.DOTALL,
)
_OTHERS = re.compile(
    r"(?:kill -0|node (?:\S+ )*?--test\S*|systemctl (?:\S+ )*is-\w+|terraform (?:plan|fmt|validate)"
    r"|git (?:\S+ )*?(?:diff|grep|merge-base|ls-remote|check-ignore|check-attr|show-ref|rev-parse))(?: .*)?",
    re.DOTALL,
)
_BESIDE = frozenset({"tee", "source", ".", "cd"})
"""What stands around a test run and changes nothing that other commands were planned on."""
_STOPS_EARLY = re.compile(r"\bset\s+-\w*e|errexit")


def is_answer(command: str, exit_code: int | None) -> bool:
    """Whether this exit code tells what a command found, and not that something was left undone.

    A command that only reads leaves nothing undone. Where it is not certain which part of a command ended
    with the code, every part must be one that answers.
    """
    reading = _read(command)
    if reading.fault is not None or not reading.parts:
        return False
    if all(_only_reads(part) for part in reading.parts):
        return True
    if exit_code is None or not 0 < exit_code <= _HIGHEST_ANSWER:
        return False
    if all(_answers(part) for part in reading.parts):
        return True
    last = None if _STOPS_EARLY.search(command) else _last_statement(command)
    return last is not None and all(_answers(part) for part in _read(last).parts)


def _read(command: str) -> Reading:
    return read_command(command, cwd="/", home="/")


def _only_reads(part: Part) -> bool:
    return part.harmless and not part.writes


def _answers(part: Part) -> bool:
    if _only_reads(part):
        return True
    forms = (part.text, *part.deny_forms)
    # Forms of one program mean the same: `npm in test` installs, because `npm install test` does.
    changing = {_program(form) for form in forms if _does_more(form)}
    return any(_form_answers(form) for form in forms if _program(form) not in changing)


def _program(form: str) -> str:
    return form.split(maxsplit=1)[0].rpartition("/")[2] if form.strip() else ""


def _does_more(form: str) -> bool:
    return _program(form) in _TASK_RUNNERS and not _DOES_MORE.isdisjoint(form.split()[1:])


def _form_answers(form: str) -> bool:
    program, rest = _program(form), form.split()[1:]
    if program in _ANSWERING or program in _BESIDE or _OTHERS.fullmatch(form):
        return True
    if program in _TASK_RUNNERS:
        return any(_TASK.fullmatch(word) for word in rest)
    return _TEST_SCRIPT.fullmatch(form) is not None


def _last_statement(command: str) -> str | None:
    """What stands behind the last `;` or line end; None where there is no such place or it is not plain."""
    try:
        script = read_script(command.encode().decode("latin-1"))
    except ValueError:
        return None  # It cannot be read with certainty, or not be encoded.
    statements = script.body.statements
    if len(statements) < 2 or statements[-1].background:
        return None
    start = _start(statements[-1].chain[0][1])
    return None if start is None else script.text[start:].encode("latin-1").decode(errors="replace")


def _start(node: Node) -> int | None:
    match node:
        case Command():
            return node.start
        case Pipeline():
            return _start(node.commands[0])
        case _:
            return None
