"""Reads the task formats of other evaluations; their data is not part of bridle."""

import os
import shlex
from collections.abc import Iterator
from typing import Any

import msgspec

from bridle.types.errors import UsageError

FORMATS = ("bridle", "swe-bench", "terminal-bench", "plugin-eval")
_MOST_FILE = 1_000_000
_PATCH = ".bridle-tests.patch"
_PRIVATE = frozenset({
    "task.yaml", "task.toml", "instruction.md", "solution.sh", "solution.yaml", "run-tests.sh", "Dockerfile",
    "docker-compose.yaml", "docker-compose.yml",
})  # fmt: skip
_PRIVATE_FOLDERS = frozenset({"tests", "solution", "environment", ".git"})

Row = tuple[str, dict[str, Any]]


def import_rows(path: str, format: str, *, repositories: str, test_command: str) -> list[Row]:
    """Tasks of a format as rows of a task file, each with its place.

    `repositories` is the address of a repository with `{repo}` for its name; `test_command` has `{tests}`.

    Raises:
        UsageError: it is not of that format.
    """
    try:
        match format:
            case "swe-bench":
                return list(_swe_bench(path, repositories, test_command))
            case "terminal-bench":
                return list(_terminal_bench(path))
            case _:
                return list(_plugin_eval(path))
    except OSError as error:
        raise UsageError(f"can't read {error.filename or path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not in the format {format}: {error}") from error


def _swe_bench(path: str, repositories: str, test_command: str) -> Iterator[Row]:
    """One JSON object a line, or a list of them: instance, repository, commit, statement and test patch."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    rows: list[Any] = (
        msgspec.json.decode(text)
        if text.lstrip().startswith("[")
        else [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
    )
    for number, row in enumerate(rows, 1):
        where = f"{path}:{number}"
        missing = [
            key for key in ("instance_id", "repo", "base_commit", "problem_statement") if key not in row
        ]
        if missing:
            raise UsageError(f"{where}: this is not SWE-bench: {missing[0]} is missing")
        tests = [*_names(row.get("FAIL_TO_PASS")), *_names(row.get("PASS_TO_PASS"))]
        made: dict[str, Any] = {
            "id": row["instance_id"],
            "prompt": row["problem_statement"],
            "repository": repositories.replace("{repo}", row["repo"]),
            "base": row["base_commit"],
            "labels": {
                "repo": row["repo"],
                **({"version": str(row["version"])} if row.get("version") else {}),
            },
            "checks": [],
        }
        if patch := row.get("test_patch"):
            made["check_files"] = {_PATCH: patch}
            made["checks"].append({"name": "tests are in place", "run": f"git apply {_PATCH}"})
        if tests:
            command = test_command.replace("{tests}", shlex.join(tests))
            made["checks"].append({"name": "tests", "run": command, "timeout": 1_800})
        yield where, made


def _names(value: Any) -> list[str]:
    """A list of tests; some versions of the data have it as text."""
    found = msgspec.json.decode(value) if isinstance(value, str) and value else value
    return [str(each) for each in found or ()]


def _terminal_bench(path: str) -> Iterator[Row]:
    """A folder for each task: `task.yaml` and `run-tests.sh`, or `instruction.md` and `tests/test.sh`."""
    single = any(os.path.isfile(os.path.join(path, name)) for name in ("task.yaml", "instruction.md"))
    folders = [path] if single else [os.path.join(path, name) for name in sorted(os.listdir(path))]
    for folder in folders:
        spec: dict[str, Any] = {}
        if os.path.isfile(written := os.path.join(folder, "task.yaml")):
            spec = _yaml(written)
        elif os.path.isfile(written := os.path.join(folder, "instruction.md")):
            spec = {"instruction": _read(written)}
        else:
            continue
        if not isinstance(spec.get("instruction"), str):
            raise UsageError(f"{written}: the instruction is missing")
        tests = {f"tests/{name}": text for name, text in _texts(os.path.join(folder, "tests"))}
        run = "tests/test.sh" if "tests/test.sh" in tests else "run-tests.sh"
        if run == "run-tests.sh" and os.path.isfile(script := os.path.join(folder, run)):
            tests[run] = _read(script)
        labels = {key: str(spec[key]) for key in ("difficulty", "category") if spec.get(key)}
        yield (
            folder,
            {
                "id": os.path.basename(os.path.abspath(folder)),
                "prompt": spec["instruction"],
                "files": dict(_texts(folder, public=True)),
                "check_files": tests,
                "timeout": float(spec.get("max_agent_timeout_sec") or 0),
                "checks": [
                    {
                        "name": "tests",
                        "run": f'TEST_DIR="$PWD/tests" bash {run}',
                        "timeout": float(spec.get("max_test_timeout_sec") or 600),
                    }
                ],
                "labels": labels,
            },
        )


def _plugin_eval(path: str) -> Iterator[Row]:
    """The cases of a plugin or skill: `evals/evals.json` with prompts, files and commands to check."""
    whole = path if os.path.isfile(path) else os.path.join(path, "evals", "evals.json")
    found: Any = msgspec.json.decode(_read(whole))
    cases: list[Any] = found.get("evals", []) if isinstance(found, dict) else found
    folder = os.path.dirname(whole)
    for number, case in enumerate(cases, 1):
        where = f"{whole}: case {number}"
        if not isinstance(case, dict) or not isinstance(case.get("prompt"), str):
            raise UsageError(f"{where} has no prompt")
        files = {os.path.basename(name): _read(os.path.join(folder, name)) for name in case.get("files", ())}
        checks = [each for each in case.get("checks", case.get("assertions", ())) if _is_command(each)]
        yield (
            where,
            {
                "id": f"case-{case.get('id', number)}",
                "prompt": case["prompt"],
                "files": files,
                "checks": [each if isinstance(each, str) else {"run": each["run"]} for each in checks],
            },
        )


def _is_command(check: Any) -> bool:
    return isinstance(check, str) or (isinstance(check, dict) and isinstance(check.get("run"), str))


def _texts(folder: str, *, public: bool = False) -> Iterator[tuple[str, str]]:
    """The text files below a folder; those that a session must not see are left out where it is public."""
    for at, folders, names in os.walk(folder):
        place = os.path.relpath(at, folder)
        if public and place == ".":
            folders[:] = [name for name in folders if name not in _PRIVATE_FOLDERS]
        for name in sorted(names):
            if public and place == "." and name in _PRIVATE:
                continue
            path = os.path.join(at, name)
            if os.path.getsize(path) <= _MOST_FILE and not os.path.islink(path):
                with open(path, "rb") as file:
                    data = file.read()
                if b"\0" not in data:
                    yield os.path.normpath(os.path.join(place, name)), data.decode(errors="replace")


def _yaml(path: str) -> dict[str, Any]:
    import yaml

    try:
        found: Any = yaml.safe_load(_read(path))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} is not a task")
    return found


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
