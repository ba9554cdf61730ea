from collections.abc import Sequence
from pathlib import Path

from bridle.extensions.index import Index
from bridle.extensions.roots import BUNDLED, Root
from bridle.extensions.skills import Skill, SkillCatalog


def write(file: Path, header: str = "", body: str = "Body") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\n{header}\n---\n{body}" if header else body)
    return file


def catalog(tmp_path: Path, *roots: Root, now: Sequence[float] = ()) -> SkillCatalog:
    moments = iter(now)
    clock = (lambda: next(moments)) if now else (lambda: 0.0)
    return SkillCatalog(Index(str(tmp_path / "index")), lambda: roots, clock=clock)


def skills(path: Path, source: str = "user") -> Root:
    assert source in ("managed", "user", "project", "plugin")
    return Root(kind="skills", path=str(path), source=source)


def only(tmp_path: Path, header: str, body: str = "Body") -> Skill:
    write(tmp_path / "s" / "one" / "SKILL.md", header, body)
    return catalog(tmp_path, skills(tmp_path / "s")).all()["one"]


def test_name_comes_from_the_folder_and_not_from_the_header(tmp_path: Path):
    assert only(tmp_path, "name: Another Name\ndescription: d").name == "one"


def test_every_field_of_the_header_is_understood(tmp_path: Path):
    skill = only(
        tmp_path,
        "description: Does it\nwhen_to_use: Often\nargument-hint: [file, level]\narguments: [file, level]\n"
        "disable-model-invocation: yes\nuser-invocable: off\nallowed-tools: Read, Bash(git *)\n"
        "disallowed-tools: [Write]\nmodel: opus\neffort: high\ncontext: fork\nagent: Explore\nbackground: 1\n"
        "hooks: {Stop: []}\npaths: 'src/**, *.md'\nshell: bash\nmetadata: {a: 1}\nlicense: MIT\n"
        "compatibility: any\nfrom-the-future: true",
    )
    assert (skill.description, skill.when_to_use, skill.argument_hint) == (
        "Does it",
        "Often",
        "[file, level]",
    )
    assert skill.argument_names == ("file", "level")
    assert (skill.for_model, skill.for_user) == (False, False)
    assert (skill.allowed_tools, skill.disallowed_tools) == (("Read", "Bash(git *)"), ("Write",))
    assert (skill.model, skill.effort, skill.agent, skill.background) == ("opus", "high", "Explore", True)
    assert (skill.hooks, skill.paths, skill.shell) == ({"Stop": []}, ("src/**", "*.md"), "bash")


def test_skill_without_a_header_describes_itself_by_its_first_words(tmp_path: Path):
    skill = only(tmp_path, "", "# Tidy up\n\nAll of it.")
    assert (skill.description, skill.for_model, skill.for_user, skill.agent) == ("Tidy up", True, True, None)


def test_inherited_models_and_unknown_contexts_change_nothing(tmp_path: Path):
    skill = only(tmp_path, "model: inherit\ncontext: sideways\neffort: enormous")
    assert (skill.model, skill.agent, skill.effort) == (None, None, None)


def test_fork_without_an_agent_takes_the_general_one(tmp_path: Path):
    assert only(tmp_path, "context: fork").agent == "general-purpose"


def test_broken_header_still_gives_a_skill_and_a_problem_with_its_place(tmp_path: Path):
    file = write(tmp_path / "s" / "one" / "SKILL.md", "description: [never", "The body")
    found = catalog(tmp_path, skills(tmp_path / "s"))
    assert found.all()["one"].description == "[never"
    (problem,) = found.problems
    assert (problem.file, problem.line is not None) == (str(file), True)


def test_weightier_source_wins_a_name_and_the_other_is_reported(tmp_path: Path):
    for source in ("managed", "user", "project"):
        write(tmp_path / source / "deploy" / "SKILL.md", f"description: Of {source}")
    found = catalog(
        tmp_path,
        skills(tmp_path / "managed", "managed"),
        skills(tmp_path / "user"),
        skills(tmp_path / "project", "project"),
    )
    assert found.all()["deploy"].description == "Of managed"
    assert [problem.file.split("/")[-3] for problem in found.problems] == ["user", "project"]


def test_same_file_by_two_ways_is_no_clash(tmp_path: Path):
    write(tmp_path / "s" / "one" / "SKILL.md")
    (tmp_path / "again").symlink_to(tmp_path / "s")
    found = catalog(tmp_path, skills(tmp_path / "s"), skills(tmp_path / "again", "project"))
    assert (len(found.all()), found.problems) == (1, ())


def test_own_skill_takes_the_place_of_a_bundled_one_without_complaint(tmp_path: Path):
    write(tmp_path / "s" / "commit" / "SKILL.md", "description: Our way")
    found = catalog(tmp_path, skills(tmp_path / "s"), BUNDLED)
    assert (found.all()["commit"].description, found.problems) == ("Our way", ())


def test_command_files_are_named_after_their_folders_and_have_no_paths(tmp_path: Path):
    write(tmp_path / "c" / "git" / "tidy.md", "description: Tidies\npaths: '*.py'")
    found = catalog(tmp_path, Root(kind="commands", path=str(tmp_path / "c"), source="project"))
    command = found.all()["git:tidy"]
    assert (command.form, command.folder, command.paths) == ("command", None, ())


def test_plugins_put_their_name_before_their_skills(tmp_path: Path):
    write(tmp_path / "p" / "skills" / "lint" / "SKILL.md")
    write(tmp_path / "p" / "commands" / "db" / "up.md")
    found = catalog(
        tmp_path,
        Root(kind="skills", path=str(tmp_path / "p" / "skills"), source="plugin", prefix="tools"),
        Root(kind="commands", path=str(tmp_path / "p" / "commands"), source="plugin", prefix="tools"),
    )
    assert set(found.all()) == {"tools:lint", "tools:db:up"}


def test_single_files_and_folders_can_be_roots(tmp_path: Path):
    write(tmp_path / "p" / "hello.md", "description: d")
    write(tmp_path / "solo" / "SKILL.md", "description: d")
    found = catalog(
        tmp_path,
        Root(
            kind="commands", path=str(tmp_path / "p" / "hello.md"), source="plugin", prefix="x", single=True
        ),
        Root(kind="skills", path=str(tmp_path / "solo"), source="plugin", prefix="x", single=True),
    )
    assert set(found.all()) == {"x:hello", "x:solo"}


def test_nested_skill_counts_after_its_folder_was_entered_and_yields_on_a_clash(tmp_path: Path):
    write(tmp_path / "p" / "web" / ".claude" / "skills" / "build" / "SKILL.md", "description: Web build")
    write(tmp_path / "p" / "web" / ".claude" / "skills" / "style" / "SKILL.md", "description: Web style")
    write(tmp_path / "p" / ".claude" / "skills" / "build" / "SKILL.md", "description: Main build")
    found = catalog(tmp_path, skills(tmp_path / "p" / ".claude" / "skills", "project"))
    assert set(found.all()) == {"build"}
    nested = Root(kind="skills", path=str(tmp_path / "p/web/.claude/skills"), source="project", prefix="web")
    assert found.enter([nested])
    assert {name: skill.description for name, skill in found.all().items()} == {
        "build": "Main build",
        "web:build": "Web build",
        "style": "Web style",
    }
    assert not found.enter([nested])


def test_change_is_noticed_within_a_second(tmp_path: Path):
    write(tmp_path / "s" / "one" / "SKILL.md")
    found = catalog(tmp_path, skills(tmp_path / "s"), now=[0.0, 0.5, 1.0])
    assert set(found.all()) == {"one"}
    write(tmp_path / "s" / "two" / "SKILL.md")
    assert set(found.all()) == {"one"}
    assert set(found.all()) == {"one", "two"}


def test_skills_without_files_come_last(tmp_path: Path):
    write(tmp_path / "s" / "one" / "SKILL.md", "description: Of a file")
    others = [
        Skill(name=name, values={"description": "Of a server"}, source="mcp", body="x")
        for name in ("one", "mcp__srv__two")
    ]
    found = SkillCatalog(
        Index(str(tmp_path / "index")), lambda: [skills(tmp_path / "s")], others=lambda: others
    ).all()
    assert {name: skill.description for name, skill in found.items()} == {
        "one": "Of a file",
        "mcp__srv__two": "Of a server",
    }


def test_a_name_that_nobody_can_type_is_told(tmp_path: Path):
    for name in ("fine-1.x", "日本語", "two words", "c++"):
        file = tmp_path / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text("x")
    root = Root(kind="skills", path=str(tmp_path / "skills"), source="user")
    catalog = SkillCatalog(Index(str(tmp_path / "i")), lambda: (root,))
    assert len(catalog.all()) == 4
    assert [problem.file.split("/")[-2] for problem in catalog.problems] == ["c++", "two words"]


def test_hooks_that_are_no_events_are_told(tmp_path: Path):
    for name, hooks in {"a": "[x]", "b": "yes", "c": "{Stop: []}", "d": ""}.items():
        file = tmp_path / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nhooks: {hooks}\n---\nx")
    root = Root(kind="skills", path=str(tmp_path / "skills"), source="user")
    catalog = SkillCatalog(Index(str(tmp_path / "i")), lambda: (root,))
    assert [(problem.file.split("/")[-2], problem.key) for problem in catalog.problems] == [
        ("a", "hooks"),
        ("b", "hooks"),
    ]


def test_no_pattern_of_paths_is_longer_than_can_be_compared():
    skill = Skill(name="a", values={"paths": ["src/**", "[" * 60_000]}, source="user")
    assert [len(pattern) for pattern in skill.paths] == [6, 500]
