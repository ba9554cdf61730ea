"""The subcommand of fleets."""

from collections.abc import Sequence

from bridle.cli.flags import SUBCOMMANDS, Flag
from bridle.cli.subcommands.values import JSON, Argument, Subcommand, number, option, repeated, switch

_RUN = Argument("run", "the id of a run, the beginning of one, or last", "optional")
_THE_RUN = Argument("run", "the id of a run, the beginning of one, or last")
_CHECK = repeated("--check", value="command", help="a command that must succeed in each work folder")
_TASK = Argument("task", "the id of a task", "optional")
_ON = option(
    "--on", value="place", help="where: local, auto, or a Ray cluster such as ray://host:10001 (local)"
)
_WORKERS = number("--workers", value="count", help="how many tasks run at once", most=100_000)
_BUDGET = number("--budget", value="dollars", help="what all tasks may cost together", decimal=True)

PLACES: tuple[Flag, ...] = (
    _ON, _WORKERS,
    number("--cpus", value="count", help="processors that each worker asks a cluster for (1)", decimal=True),
    option("--memory", value="size", help="memory that each worker asks a cluster for, such as 2G"),
    repeated("--resource", value="name=amount", help="a custom resource that each worker asks for"),
    repeated("--place", value="label=value", help="a label that the machines of all workers must have"),
)  # fmt: skip
LIMITS: tuple[Flag, ...] = (
    option("--model", value="model", help="the model of tasks that name none"),
    option("--permission-mode", value="mode", help="the widest mode that a task may have (acceptEdits)"),
    _BUDGET,
    number("--timeout", value="seconds", help="the most seconds of one attempt (3600)", decimal=True),
    repeated(
        "--retries", value="kind=count", help="repeat attempts: lost, overloaded, store, source or check"
    ),
    switch("--no-sandbox", help="run commands outside the sandbox"),
    repeated("--allow-host", value="host", help="a host that sandboxed commands may reach"),
    repeated("--allow-folder", value="folder", help="a folder that tasks may name, besides their own"),
    repeated("--secret", value="name", help="a variable of the workers that tasks may ask for by name"),
    switch("--trust", help="settings, hooks and servers of the folders of tasks count"),
    option("--settings", value="file", help="more settings for every session: a file, or JSON"),
    option("--max-disk", value="size", help="the most that a task may write (4G)"),
    number("--max-processes", value="count", help="the most processes of a task (512)", most=100_000),
)
KEEPING: tuple[Flag, ...] = (
    option("--name", value="text", help="a name for the run"),
    option("--store", value="address", help="where artifacts go: a folder, s3://… or gs://…"),
    switch("--keep", help="keep the work folders of finished tasks"),
)


def _options(*more: Flag) -> tuple[Flag, ...]:
    return (*more, *PLACES, *LIMITS, *KEEPING, JSON)


def _group(commands: Sequence[Subcommand]) -> Subcommand:
    return Subcommand(
        "fleet",
        SUBCOMMANDS["fleet"],
        details="""\
Each task is one session in a work folder of its own, behind the sandbox. Tasks run on the processes of this
machine, or on a Ray cluster with bridle[fleet]. Results stay on disk, so an interrupted run can be resumed.
See `bridle docs fleet`.""",
        commands=tuple(commands),
    )


FLEET = _group((
    Subcommand(
        "run", "Run every task of a file or folder", "fleet.running:run_fleet",
        arguments=(Argument("tasks", "a .jsonl or .csv file, or a folder of tasks", completes="file"),),
        options=_options(
            option(
                "--prompt", value="text", help="the prompt of tasks without one, or @file"
            ),
            repeated("--label", value="name=value", help="only tasks with this label"),
            number("--limit", value="count", help="only the first tasks"),
        ),
        examples=(
            "bridle fleet run tasks.jsonl --workers 8 --budget 20",
            "bridle fleet run issues.csv --prompt 'Fix {{title}}: {{body}}' --model sonnet",
            "bridle fleet run tasks/ --on ray://head:10001 --store s3://bucket/fleet",
        ),
    ),
    Subcommand(
        "resume", "Continue a run that was interrupted or stopped", "fleet.resume:resume_fleet",
        arguments=(_THE_RUN,),
        options=(switch("--failed", help="repeat failed tasks too"), _ON, _WORKERS, _BUDGET, JSON),
    ),
    Subcommand(
        "map", "Run one prompt over many repositories, folders or files", "fleet.workflows:run_map",
        arguments=(
            Argument("prompt", "what to do; {item} is the name of each"),
            Argument("source", "a repository, a folder or a file", "some", completes="file"),
        ),
        options=(_CHECK, *PLACES, *LIMITS, *KEEPING),
        examples=("bridle fleet map 'List what is deprecated' ~/src/*",),
    ),
    Subcommand(
        "review", "Let several reviewers look at one change, and merge what they find",
        "fleet.workflows:run_review",
        arguments=(Argument("repository", "the repository (the current folder)", "optional"),),
        options=(
            option("--base", value="commit", help="where the change begins (main)"),
            option("--head", value="commit", help="where it ends (HEAD)"),
            number("--reviewers", value="count", help="how many (3)", most=50),
            *PLACES, *LIMITS, *KEEPING,
        ),
    ),
    Subcommand(
        "best-of", "Try a task several times; checks and a judge choose", "fleet.workflows:run_best_of",
        arguments=(Argument("count", "how many attempts"), Argument("prompt", "what to do")),
        options=(
            option("--repository", value="path", help="the repository or folder to work in"),
            _CHECK, *PLACES, *LIMITS, *KEEPING,
        ),
        examples=("bridle fleet best-of 4 'Make it faster' --repository . --check 'make test'",),
    ),
    Subcommand(
        "migrate", "Make the same change in many repositories", "fleet.workflows:run_migrate",
        arguments=(
            Argument("prompt", "the change"), Argument("repository", "a repository", "some"),
        ),
        options=(_CHECK, *PLACES, *LIMITS, *KEEPING),
        examples=("bridle fleet migrate 'Move to Python 3.13' ~/src/* --check 'make test'",),
    ),
    Subcommand(
        "workflow", "Run a workflow file whose agents are tasks", "fleet.workflows:run_workflow",
        arguments=(Argument("file", "a workflow file (JavaScript)", completes="file"),),
        options=(
            option("--args", value="json", help="what the script finds as args"), *PLACES, *LIMITS, *KEEPING,
        ),
    ),
    Subcommand("list", "List runs", "fleet.showing:list_runs", options=(JSON,)),
    Subcommand(
        "show", "Show a run: progress, cost, failures and tasks", "fleet.showing:show_run",
        arguments=(_RUN, _TASK),
        options=(
            option("--html", value="file", help="write a page with plots"),
            switch("--once", help="do not follow a run that is running"),
            switch("--all", help="list every task"),
            JSON,
        ),
        examples=("bridle fleet show", "bridle fleet show last --html report.html"),
    ),
    Subcommand(
        "attach", "Follow a run, or one task of it, until it ends", "fleet.showing:attach_run",
        arguments=(_RUN, _TASK),
    ),
    Subcommand(
        "logs", "Print the conversation of a task", "fleet.showing:show_logs",
        arguments=(_THE_RUN, Argument("task", "the id of a task")),
        options=(switch("--json", help="print the transcript as it was written"),),
    ),
    Subcommand(
        "diff", "Print what a task has changed", "fleet.showing:show_diff", arguments=(_RUN, _TASK),
        examples=("bridle fleet diff last 0007 | git apply",),
    ),
    Subcommand(
        "export", "Write results, patches and artifacts to a folder", "fleet.showing:export_run",
        arguments=(_RUN, Argument("folder", "an empty or new folder", "optional", completes="folder")),
        options=(switch("--branches", help="write a branch for each patch to the repository of its task"),),
    ),
    Subcommand(
        "rm", "Remove runs and what only they have kept", "fleet.showing:remove_run",
        arguments=(Argument("run", "the id of a run", "some"),),
    ),
))  # fmt: skip
EVAL = Subcommand(
    "eval",
    SUBCOMMANDS["eval"],
    "fleet.evaluation:run_eval",
    arguments=(Argument("suite", "a file or folder of tasks", "optional", completes="file"),),
    options=_options(
        repeated(
            "--matrix", value="axis=a,b", help="try model, prompt, settings, bridle or mode with each value"
        ),
        number("--repeats", value="count", help="how often each task is tried in each cell (1)", most=1_000),
        option("--format", value="format", help="bridle, swe-bench, terminal-bench or plugin-eval (bridle)"),
        option("--repositories", value="address", help="where repositories of SWE-bench are, with {repo}"),
        option("--test-command", value="command", help="runs tests of SWE-bench, with {tests}"),
        option("--prompt", value="text", help="the prompt of tasks without one, or @file"),
        repeated("--label", value="name=value", help="only tasks with this label"),
        number("--limit", value="count", help="only the first tasks"),
        option("--show", value="run", help="show what an evaluation came to that ran before"),
    ),
    details="""\
Runs tasks with checks over a matrix, as a fleet, and prints pass rates with 95 % intervals and paired
differences to the first cell. See `bridle docs fleet`.""",
    examples=(
        "bridle eval examples/eval-offline --model offline",
        "bridle eval suite.jsonl --matrix model=sonnet,haiku --repeats 3 --budget 20",
        "bridle eval swe.jsonl --format swe-bench --repositories /mirrors/{repo}.git",
    ),
)
WORKER = Subcommand(
    "--fleet-worker",
    "Run the attempts of a fleet (used internally)",
    "fleet.work:run_fleet_worker",
    hidden=True,
)
