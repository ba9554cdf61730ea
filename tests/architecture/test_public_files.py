"""The files of a public project agree with each other: workflows, templates, hooks, links and metadata."""

import importlib.util
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

_ROOT = Path(__file__).parents[2]
_PROJECT: dict[str, Any] = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_WORKFLOWS = sorted((_ROOT / ".github" / "workflows").glob("*.yml"))
_MAKEFILE = (_ROOT / "Makefile").read_text(encoding="utf-8")
_KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def _yaml(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in _WORKFLOWS:
        for name, job in _yaml(path)["jobs"].items():
            yield f"{path.name}: {name}", job


def _steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, job in _jobs():
        for step in job["steps"]:
            yield name, step


def _script(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, _ROOT / "scripts" / f"{name}.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _pythons() -> list[str]:
    classified = [
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in _classifiers()
    ]
    return [match[1] for match in classified if match]


def _classifiers() -> list[str]:
    return _PROJECT["project"]["classifiers"]


def test_metadata_is_complete_and_the_oldest_python_is_the_required_one():
    project = _PROJECT["project"]
    assert project["authors"] and project["keywords"] == sorted(project["keywords"])
    assert {"Documentation", "Source", "Issues", "Changelog", "Security"} <= set(project["urls"])
    assert _classifiers() == sorted(_classifiers(), key=lambda each: each.replace("3.", "3.0"))
    assert project["requires-python"] == f">={_pythons()[0]}"
    assert _PROJECT["tool"]["basedpyright"]["pythonVersion"] == _pythons()[0]


def test_workflows_use_pinned_actions_few_rights_and_a_time_limit():
    assert [path.name for path in _WORKFLOWS] == ["docs.yml", "release.yml", "test.yml"]
    for path in _WORKFLOWS:
        workflow = _yaml(path)
        assert workflow["permissions"] == {"contents": "read"}, path
        # YAML reads the bare word `on` as true.
        assert workflow[True], path
    for name, job in _jobs():
        assert job["timeout-minutes"] <= 60, name
    for name, step in _steps():
        assert ("uses" in step) != ("run" in step), name
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@(v\d+|[0-9a-f]{40})", step["uses"]), step["uses"]
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False, name
        # Text from outside is passed to a script as a variable, never pasted into it.
        assert "${{" not in step.get("run", ""), name


def test_linux_and_macos_are_tested_on_every_python_that_is_named():
    jobs = _yaml(_ROOT / ".github" / "workflows" / "test.yml")["jobs"]
    for name, runner in (("linux", "ubuntu-latest"), ("macos", "macos-latest")):
        assert jobs[name]["runs-on"] == runner
        assert jobs[name]["strategy"]["matrix"]["python"] == _pythons()
    for name, step in _steps():
        if step.get("uses", "").startswith("actions/setup-python@"):
            assert step["with"]["python-version"] in (*_pythons(), "${{ matrix.python }}"), name


def test_commands_of_workflows_and_docs_exist():
    targets = set(re.findall(r"^([a-z]+):", _MAKEFILE, re.MULTILINE))
    texts = [str(step.get("run", "")) for _, step in _steps()]
    texts += [
        page.read_text(encoding="utf-8")
        for page in (_ROOT / "CONTRIBUTING.md", _ROOT / "docs" / "releasing.md")
    ]
    texts.append((_ROOT / ".github" / "pull_request_template.md").read_text(encoding="utf-8"))
    for text in texts:
        assert set(re.findall(r"(?:^|`|\brun: )make ([a-z]+)", text, re.MULTILINE)) <= targets, text
        for script in re.findall(r"scripts/\w+\.py", text):
            assert (_ROOT / script).is_file(), script


def test_release_workflow_publishes_only_what_was_tested_signed_and_verified():
    jobs = _yaml(_ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert (jobs["build"]["needs"], jobs["publish"]["needs"]) == ("test", "build")
    runs = "\n".join(step.get("run", "") for step in jobs["build"]["steps"])
    assert "make release KEY=" in runs and "-n bridle-release" in runs
    assert "id-token" not in str(jobs["test"]) + str(jobs["build"])


def test_issue_forms_have_what_the_site_needs_and_security_goes_elsewhere():
    folder = _ROOT / ".github" / "ISSUE_TEMPLATE"
    forms = sorted(path for path in folder.glob("*.yml") if path.name != "config.yml")
    assert [path.stem for path in forms] == ["bug", "feature", "permission"]
    for path in forms:
        form = _yaml(path)
        assert form["name"] and form["description"], path
        named = [part["id"] for part in form["body"] if part["type"] != "markdown"]
        assert named and len(named) == len(set(named)), path
        assert all(part["attributes"].get("label") for part in form["body"] if part["type"] != "markdown"), (
            path
        )
    config = _yaml(folder / "config.yml")
    assert config["contact_links"][0]["url"] == _PROJECT["project"]["urls"]["Security"]


def test_site_and_package_have_the_same_addresses():
    site = tomllib.loads((_ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    urls = _PROJECT["project"]["urls"]
    assert (site["site_url"], site["repo_url"]) == (urls["Documentation"], urls["Source"])


def test_hooks_before_a_commit_use_the_tools_of_the_project():
    (local,) = _yaml(_ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        assert hook["language"] == "system", hook["id"]
        assert hook["entry"].startswith(".venv/bin/"), hook["id"]
        for path in re.findall(r"\b(?:tests|scripts)/[\w./]+", hook["entry"]):
            assert (_ROOT / path).exists(), path


def test_changelog_has_the_form_that_releases_need():
    text = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", each) for each in versions[1:])
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", section, re.MULTILINE)
        assert kinds == sorted(set(kinds), key=_KINDS.index), section[:40]


def test_every_page_is_in_the_navigation_and_no_link_leads_nowhere(tmp_path: Path):
    assert _script("site").stage(_ROOT, tmp_path / "docs") == []


def test_every_public_name_of_the_sdk_is_in_the_reference():
    from bridle import sdk

    pages = "\n".join(
        path.read_text(encoding="utf-8") for path in (_ROOT / "docs" / "reference").glob("*.md")
    )
    shown = re.findall(r"^::: bridle\.sdk\.(\w+)$", pages, re.MULTILINE)
    assert len(shown) == len(set(shown))
    aliases = {"ClaudeAgentOptions", "ClaudeSDKClient", "__version__"}
    assert set(shown) == set(sdk.__all__) - aliases
