import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.context.instruction_scope import Instructions, Kind, Scope, open_scope
from bridle.context.instructions import load, nested_for
from tests.fakes.processes import without_privileges
from tests.permissions.counted import calls


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A home directory with a project in it that is a repository, and an administrator's folder."""
    for folder in ("etc", "home/.claude", "home/code/app/.git"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "home/code/app/.git/HEAD").write_text("ref: refs/heads/main\n")
    return tmp_path


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def scope_of(
    root: Path, cwd: str = "home/code/app", *, env: dict[str, str] | None = None, **more: Any
) -> Scope:
    (root / cwd).mkdir(parents=True, exist_ok=True)
    env = {"HOME": str(root / "home")} | (env or {})
    return open_scope(str(root / cwd), env=env, managed_dir=str(root / "etc"), **more)


def names(loaded: Instructions, root: Path) -> list[str]:
    """Paths from the root of the fixture; what lies above it on this machine is left out."""
    start = f"{root}/"
    return [each.path.removeprefix(start) for each in loaded.files if each.path.startswith(start)]


def texts(loaded: Instructions) -> list[str]:
    return [each.text for each in loaded.files]


EVERYTHING = {
    "etc/CLAUDE.md": "managed",
    "home/.claude/CLAUDE.md": "user",
    "home/.claude/rules/b.md": "user rule b",
    "home/.claude/rules/a.md": "user rule a",
    "CLAUDE.md": "top",
    "home/code/CLAUDE.local.md": "parent local",
    "home/code/CLAUDE.md": "parent",
    "home/code/app/CLAUDE.md": "app",
    "home/code/app/.claude/CLAUDE.md": "app hidden",
    "home/code/app/AGENTS.md": "not read beside CLAUDE.md",
    "home/code/app/.claude/rules/style.md": "rule",
    "home/code/app/.claude/rules/deep/more.md": "deep rule",
    "home/code/app/.claude/rules/notes.txt": "not Markdown",
    "home/code/app/CLAUDE.local.md": "local",
    "home/code/app/sub/CLAUDE.md": "below: only on demand",
}


def test_files_are_ordered_from_the_general_to_the_particular(root: Path):
    write(root, EVERYTHING)

    loaded = load(scope_of(root, managed_text="managed key"))

    assert [(each.text, each.kind) for each in loaded.files] == [
        ("managed", "Managed"),
        ("managed key", "Managed"),
        ("user", "User"),
        ("user rule a", "User"),
        ("user rule b", "User"),
        ("top", "Project"),
        ("parent", "Project"),
        ("parent local", "Local"),
        ("app", "Project"),
        ("app hidden", "Project"),
        ("deep rule", "Project"),
        ("rule", "Project"),
        ("local", "Local"),
    ]
    assert {each.reason for each in loaded.files} == {"session_start"}
    assert loaded.problems == ()


@pytest.mark.parametrize(
    ("sources", "kinds"),
    [
        ({"user", "project", "local"}, {"Managed", "User", "Project", "Local"}),
        ({"user"}, {"Managed", "User"}),
        ({"project"}, {"Managed", "Project"}),
        ({"local"}, {"Managed", "Local"}),
        (set[str](), {"Managed"}),
    ],
)
def test_setting_sources_choose_who_speaks(root: Path, sources: set[str], kinds: set[Kind]):
    write(root, EVERYTHING)

    loaded = load(scope_of(root, sources=frozenset(sources)))

    assert {each.kind for each in loaded.files} == kinds
    if "user" not in sources:
        assert not any(name.startswith("home/.claude/") for name in names(loaded, root))


def test_a_variable_turns_all_instruction_files_off(root: Path):
    write(root, EVERYTHING)
    scope = scope_of(root, env={"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}, managed_text="managed key")

    assert load(scope) == Instructions()
    assert nested_for(str(root / "home/code/app/sub/x.py"), scope).files == ()


def test_another_home_for_the_configuration_is_honored(root: Path):
    write(root, EVERYTHING | {"elsewhere/CLAUDE.md": "moved"})
    scope = scope_of(root, env={"CLAUDE_CONFIG_DIR": str(root / "elsewhere")}, sources=frozenset({"user"}))

    assert texts(load(scope)) == ["managed", "moved"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"AGENTS.md": "agents"}, ["agents"]),
        ({"AGENTS.md": "agents", "CLAUDE.md": "claude"}, ["claude"]),
        ({"AGENTS.md": "agents", "CLAUDE.local.md": "local"}, ["agents", "local"]),
        ({"AGENTS.md": "agents", ".claude/CLAUDE.md": "hidden"}, ["hidden", "agents"]),
    ],
)
def test_agents_md_is_read_where_there_is_no_claude_md(
    root: Path, files: dict[str, str], expected: list[str]
):
    write(root / "home/code/app", files)

    assert texts(load(scope_of(root))) == expected


def test_additional_directories_are_read_when_the_variable_says_so(root: Path):
    write(root, {"other/CLAUDE.md": "other\n@more.md", "other/more.md": "more"})
    extra = (str(root / "other"),)

    assert texts(load(scope_of(root, extra_dirs=extra))) == []
    on = {"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}
    assert texts(load(scope_of(root, extra_dirs=extra, env=on))) == ["other\n@more.md", "more"]


def test_imports_follow_their_file_and_name_it(root: Path):
    write(
        root / "home/code/app",
        {
            "CLAUDE.md": "See @docs/a.md. And (maybe) @missing.md or @nobody",
            "docs/a.md": "a, with @b.md#part",
            "docs/b.md": "b",
        },
    )

    loaded = load(scope_of(root))

    app = root / "home/code/app"
    assert [(each.path, each.parent, each.reason) for each in loaded.files] == [
        (f"{app}/CLAUDE.md", None, "session_start"),
        (f"{app}/docs/a.md", f"{app}/CLAUDE.md", "include"),
        (f"{app}/docs/b.md", f"{app}/docs/a.md", "include"),
    ]
    assert loaded.files[0].text.endswith("@missing.md or @nobody")
    assert loaded.problems == ()


def test_imports_in_code_and_comments_are_not_followed(root: Path):
    text = "`@x.md`\n```\n@x.md\n```\n<!-- @x.md -->\nkept"
    write(root / "home/code/app", {"CLAUDE.md": text, "x.md": "x"})

    assert texts(load(scope_of(root))) == ["`@x.md`\n```\n@x.md\n```\nkept"]


def test_an_import_cycle_is_cut_and_a_file_is_taken_once(root: Path):
    write(
        root / "home/code/app",
        {"CLAUDE.md": "@a.md @b.md", "a.md": "a @b.md @CLAUDE.md", "b.md": "b @a.md @b.md"},
    )

    assert names(load(scope_of(root)), root / "home/code/app") == ["CLAUDE.md", "a.md", "b.md"]


def test_imports_go_four_hops_deep(root: Path):
    chain = {f"{n}.md": f"{n} @{n + 1}.md" for n in range(1, 7)}
    write(root / "home/code/app", {"CLAUDE.md": "0 @1.md"} | chain)

    loaded = load(scope_of(root))

    assert names(loaded, root / "home/code/app") == ["CLAUDE.md", "1.md", "2.md", "3.md", "4.md"]
    assert len(loaded.problems) == 1
    assert "5.md" in loaded.problems[0]


@pytest.mark.parametrize(
    "link", ["/{root}/secret.txt", "../../../secret.txt", "~/../secret.txt", "inside/link.txt"]
)
@pytest.mark.parametrize("name", ["CLAUDE.md", "CLAUDE.local.md"])
def test_imports_of_a_project_that_leave_it_are_reported_and_not_followed(root: Path, name: str, link: str):
    app = root / "home/code/app"
    write(root, {"secret.txt": "secret"})
    (app / "inside").mkdir()
    os.symlink(root / "secret.txt", app / "inside/link.txt")
    write(app, {name: "@" + link.replace("/{root}", str(root))})

    loaded = load(scope_of(root))

    assert "secret" not in texts(loaded)
    assert len(loaded.problems) == 1
    assert "outside the project" in loaded.problems[0]


def test_a_sibling_with_the_same_beginning_is_outside(root: Path):
    write(root, {"home/code/app/CLAUDE.md": "@../app-secret/x.md", "home/code/app-secret/x.md": "x"})

    assert texts(load(scope_of(root))) == ["@../app-secret/x.md"]


def test_a_folder_may_import_from_all_of_its_repository(root: Path):
    write(root, {"home/code/app/sub/CLAUDE.md": "@../shared.md", "home/code/app/shared.md": "shared"})

    assert texts(load(scope_of(root, "home/code/app/sub"))) == ["@../shared.md", "shared"]


def test_a_home_directory_under_version_control_is_not_one_project(root: Path):
    write(
        root,
        {"home/.git/HEAD": "ref: refs/heads/main\n", "home/plain/CLAUDE.md": "@~/key", "home/key": "key"},
    )

    loaded = load(scope_of(root, "home/plain"))

    assert texts(loaded) == ["@~/key"]
    assert len(loaded.problems) == 1


def test_the_user_may_import_from_home_and_elsewhere(root: Path):
    write(
        root, {"home/.claude/CLAUDE.md": f"@~/notes.md @{root}/x.md", "home/notes.md": "notes", "x.md": "x"}
    )

    loaded = load(scope_of(root))

    assert texts(loaded)[1:] == ["notes", "x"]
    assert {each.kind for each in loaded.files} == {"User"}


@pytest.mark.parametrize(
    "pattern",
    ["{app}/CLAUDE.md", "**/app/CLAUDE.md", "app/CLAUDE.md", "~/code/app/CLAUDE.md", "~/code/app/*.md"],
)
def test_excluded_files_are_skipped(root: Path, pattern: str):
    write(root, EVERYTHING)
    app = root / "home/code/app"

    left = names(load(scope_of(root, excludes=(pattern.replace("{app}", str(app)),))), root)

    assert "home/code/app/CLAUDE.md" not in left
    assert "home/code/CLAUDE.md" in left
    assert "home/code/app/.claude/CLAUDE.md" in left


def test_excludes_cover_rules_imports_and_link_targets_but_not_the_administrator(root: Path):
    write(root, EVERYTHING | {"home/code/app/docs/a.md": "imported", "home/code/app/CLAUDE.md": "@docs/a.md"})
    os.symlink(root / "home/code/app/docs/a.md", root / "home/code/app/.claude/rules/link.md")

    left = texts(load(scope_of(root, excludes=("**/rules/**", "**/docs/**", f"{root}/etc/**"))))

    assert "managed" in left
    assert not {"rule", "deep rule", "imported", "user rule a"} & set(left)


def test_links_are_followed_and_a_file_under_two_names_is_taken_once(root: Path):
    app = root / "home/code/app"
    write(root, {"shared/rules/team.md": "team", "home/code/app/AGENTS.md": "agents"})
    os.symlink("AGENTS.md", app / "CLAUDE.md")
    (app / ".claude").mkdir()
    os.symlink("../CLAUDE.md", app / ".claude/CLAUDE.md")
    os.symlink(root / "shared/rules", app / ".claude/rules")

    assert names(load(scope_of(root)), app) == ["CLAUDE.md", ".claude/rules/team.md"]


def test_a_linked_working_directory_is_the_place_it_leads_to(root: Path):
    write(root, {"home/code/app/CLAUDE.md": "app"})
    os.symlink(root / "home/code/app", root / "link")

    assert names(load(scope_of(root, "link")), root) == ["home/code/app/CLAUDE.md"]


def test_a_project_link_out_to_something_other_than_markdown_is_refused(root: Path):
    """S30: a repository must not bring a private file before the model by linking to it."""
    write(root, {"home/.ssh/id_rsa": "private key"})
    os.symlink(root / "home/.ssh/id_rsa", root / "home/code/app/CLAUDE.md")

    loaded = load(scope_of(root))

    assert texts(loaded) == []
    assert len(loaded.problems) == 1


def test_loops_of_links_in_the_rules_end(root: Path):
    rules = root / "home/code/app/.claude/rules"
    write(rules, {"a/x.md": "x"})
    os.symlink("..", rules / "a/up")
    os.symlink(rules, rules / "again")

    assert texts(load(scope_of(root))) == ["x"]


def test_what_cannot_be_read_is_reported_and_the_rest_is_loaded(root: Path):
    app = root / "home/code/app"
    os.symlink("CLAUDE.md", app / "CLAUDE.md")
    os.mkfifo(app / "CLAUDE.local.md")
    (app / ".claude/rules/folder.md").mkdir(parents=True)
    write(app, {".claude/CLAUDE.md": "hidden"})

    loaded = load(scope_of(root))

    assert texts(loaded) == ["hidden"]
    assert [problem.partition(" is not read: ")[0] for problem in loaded.problems] == [
        f"{app}/CLAUDE.md",
        f"{app}/CLAUDE.local.md",
    ]


def test_a_file_without_permission_is_reported(root: Path):
    write(root, {"home/code/app/CLAUDE.md": "app"})
    (root / "home/code/app/CLAUDE.md").chmod(0)

    loaded = without_privileges(lambda: load(scope_of(root)))

    assert texts(loaded) == []
    assert len(loaded.problems) == 1


def test_a_file_over_four_mebibytes_is_skipped(root: Path):
    write(root, {"home/code/app/CLAUDE.md": "x" * (4 * 1024 * 1024 + 1), "home/code/CLAUDE.md": "small"})

    loaded = load(scope_of(root))

    assert texts(loaded) == ["small"]
    assert "4 MiB" in loaded.problems[0]


def test_long_files_are_cut_and_the_total_is_bounded_with_notices(root: Path):
    long = "ä" * 150_000
    files = {f"{name}.md": f"{name}{long}" for name in "abc"}
    write(root / "home/code/app/.claude/rules", files)
    write(root, {"home/code/app/CLAUDE.md": "first", "home/code/app/CLAUDE.local.md": long})

    loaded = load(scope_of(root))

    assert [text[0] for text in texts(loaded)] == ["f", "a", "b"]
    assert sum(len(text.encode()) for text in texts(loaded)) < 401_000
    assert "omitted" in loaded.files[1].text[-200:]
    assert len(loaded.problems) == 4


def test_bytes_that_are_no_text_are_replaced(root: Path):
    (root / "home/code/app/CLAUDE.md").write_bytes(b"\xef\xbb\xbfgood \xff\x00 bad\r\nend @pic.png")
    (root / "home/code/app/pic.png").write_bytes(b"\x89PNG\0\0")

    loaded = load(scope_of(root))

    assert texts(loaded) == ["good \ufffd\ufffd bad\nend @pic.png"]
    assert "pic.png" in loaded.problems[0]


def test_an_empty_file_says_nothing(root: Path):
    write(root, {"home/code/app/CLAUDE.md": " \n<!-- later -->\n"})

    assert load(scope_of(root)).files == ()


RULE = "---\npaths: src/**/*.py\n---\nTyped."


def test_a_rule_with_paths_waits_for_a_file_that_it_covers(root: Path):
    app = root / "home/code/app"
    write(app, {".claude/rules/py.md": RULE, "src/a/b.py": "", "src/a/b.js": "", "x.py": ""})
    scope = scope_of(root)
    loaded = load(scope)
    assert loaded.files == ()

    for other in ("src/a/b.js", "x.py", "../outside.py"):
        found = nested_for(str(app / other), scope, waiting=loaded.waiting, already=loaded.seen)
        assert found.files == ()
    found = nested_for(str(app / "src/a/b.py"), scope, waiting=loaded.waiting, already=loaded.seen)
    again = nested_for(str(app / "src/a/b.py"), scope, waiting=loaded.waiting, already=found.seen)

    (rule,) = found.files
    assert (rule.text, rule.reason, rule.globs) == ("Typed.", "path_glob_match", ("src/**/*.py",))
    assert rule.trigger == str(app / "src/a/b.py")
    assert again.files == ()


def test_a_rule_of_the_user_is_matched_from_the_working_directory(root: Path):
    write(root, {"home/.claude/rules/py.md": RULE})
    scope = scope_of(root)
    loaded = load(scope)

    found = nested_for("src/x.py", scope, waiting=loaded.waiting, already=loaded.seen)

    assert [(each.kind, each.text) for each in found.files] == [("User", "Typed.")]


def test_folders_below_speak_up_once_when_something_in_them_is_read(root: Path):
    app = root / "home/code/app"
    write(
        app,
        {
            "CLAUDE.md": "app",
            "sub/AGENTS.md": "sub @notes.md",
            "sub/notes.md": "notes",
            "sub/deep/CLAUDE.md": "deep",
            "sub/deep/CLAUDE.local.md": "deep local",
            "sub/deep/.claude/rules/always.md": "deep rule",
            "sub/deep/.claude/rules/py.md": "---\npaths: '*.py'\n---\ndeep python",
            "sub/deep/below/CLAUDE.md": "not on the way",
            "beside/CLAUDE.md": "not on the way",
        },
    )
    scope = scope_of(root)
    loaded = load(scope)

    first = nested_for(str(app / "sub/deep/x.txt"), scope, already=loaded.seen)
    second = nested_for(str(app / "sub/deep/y.py"), scope, already=first.seen)
    third = nested_for(str(app / "sub/deep/y.py"), scope, already=second.seen)

    assert texts(loaded) == ["app"]
    assert texts(first) == ["sub @notes.md", "notes", "deep", "deep rule", "deep local"]
    assert {each.trigger for each in first.files} == {str(app / "sub/deep/x.txt")}
    assert [each.reason for each in first.files][:3] == ["nested_traversal", "include", "nested_traversal"]
    assert texts(second) == ["deep python"]
    assert third.files == ()


def test_a_problem_on_the_way_is_reported_once(root: Path):
    app = root / "home/code/app"
    (app / "sub").mkdir()
    os.mkfifo(app / "sub/CLAUDE.md")
    scope = scope_of(root)

    first = nested_for(str(app / "sub/x"), scope)
    second = nested_for(str(app / "sub/x"), scope, already=first.seen)

    assert (len(first.problems), second.problems) == (1, ())


def test_a_file_read_through_a_link_from_elsewhere_brings_in_its_folder(root: Path):
    write(root, {"home/code/app/sub/CLAUDE.md": "sub"})
    os.symlink(root / "home/code/app", root / "link")

    assert texts(nested_for(str(root / "link/sub/x.py"), scope_of(root))) == ["sub"]


@pytest.mark.parametrize("path", ["/etc/passwd", "{app}/top.py", "{app}", "../beside/x.py"])
def test_files_that_are_not_in_a_folder_below_bring_in_nothing(root: Path, path: str):
    write(root, {"home/code/beside/CLAUDE.md": "beside", "home/code/app/CLAUDE.md": "app"})
    scope = scope_of(root)
    path = path.replace("{app}", str(root / "home/code/app"))

    assert nested_for(path, scope, already=load(scope).seen).files == ()


def test_loading_twice_gives_the_same(root: Path):
    write(root, EVERYTHING)

    assert load(scope_of(root)) == load(scope_of(root))


def test_loading_is_little_work_where_there_is_nothing_to_load(root: Path):
    deep = "home/code/app/" + "/".join("d" * 20)
    scope = scope_of(root, deep)

    assert calls(lambda: load(scope)) < 3_000


def test_little_is_imported_beyond_what_the_program_needs_anyway():
    code = """
import asyncio, msgspec, re, sys
before = set(sys.modules)
import bridle.context.instructions, bridle.context.prompt, bridle.context.reminders
print(*sorted(name for name in set(sys.modules) - before if not name.startswith("bridle")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) <= {"fnmatch", "msgspec.structs"}
