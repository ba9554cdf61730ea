from pathlib import Path

import pytest

from bridle.config.problems import Problem
from bridle.extensions.index import Index
from bridle.extensions.roots import Root
from bridle.extensions.styles import choose_style, load_styles, style_problems
from bridle.extensions.themes import Theme, find_theme, list_themes, read_theme, theme_problems


def styles_root(path: Path, source: str = "user") -> Root:
    assert source in ("user", "plugin")
    return Root(
        kind="output-styles", path=str(path), source=source, prefix="acme" if source == "plugin" else ""
    )


def test_built_in_styles_are_there(tmp_path: Path):
    styles = load_styles(Index(str(tmp_path / "i")), [])
    assert [style.name for style in styles.values()] == [
        "default",
        "Proactive",
        "Concise",
        "Explanatory",
        "Learning",
    ]
    assert all(style.read() for style in styles.values() if style.name != "default")


def test_style_file_is_found_by_its_name_and_drops_the_coding_advice(tmp_path: Path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "pirate.md").write_text("---\nname: Pirate\ndescription: Arr\n---\nTalk like a pirate.")
    style = choose_style(load_styles(Index(str(tmp_path / "i")), [styles_root(tmp_path / "s")]), "pirate")
    assert style is not None
    assert (style.name, style.read(), style.keeps_coding) == ("Pirate", "Talk like a pirate.", False)


def test_style_can_keep_the_coding_advice(tmp_path: Path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.md").write_text("---\nkeep-coding-instructions: yes\n---\nx")
    style = choose_style(load_styles(Index(str(tmp_path / "i")), [styles_root(tmp_path / "s")]), "A")
    assert style is not None and style.keeps_coding


def test_default_and_unknown_styles_change_nothing(tmp_path: Path):
    styles = load_styles(Index(str(tmp_path / "i")), [])
    assert [choose_style(styles, wanted) for wanted in (None, "default", "Default", "nobody's")] == [None] * 4


def test_plugin_can_force_its_style_and_others_cannot(tmp_path: Path):
    for source in ("user", "plugin"):
        (tmp_path / source).mkdir()
        (tmp_path / source / "x.md").write_text(f"---\nforce-for-plugin: true\n---\n{source}")
    index = Index(str(tmp_path / "i"))
    assert choose_style(load_styles(index, [styles_root(tmp_path / "user")]), None) is None
    forced = choose_style(load_styles(index, [styles_root(tmp_path / "plugin", "plugin")]), "Concise")
    assert forced is not None and forced.name == "acme:x"


def test_themes_are_listed_unread_and_read_on_demand(tmp_path: Path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "sea.json").write_text(
        '{"name": "Sea", "base": "light", "overrides": {"accent": "#00f"}}'
    )
    (tmp_path / "t" / "bad.json").write_text("{")
    root = Root(kind="themes", path=str(tmp_path / "t"), source="user")
    files = {file.name: file for file in list_themes(Index(str(tmp_path / "i")), [root])}
    assert set(files) == {"sea", "bad"}
    assert read_theme(files["sea"]) == Theme(name="Sea", base="light", overrides={"accent": "#00f"})
    assert isinstance(read_theme(files["bad"]), Problem)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n"base": }', ":2:"),
        ("[" * 100_000, "not valid JSON"),
        ('{"overrides": []}', "overrides"),
        ('{"name": 3}', "name"),
        ("[]", "expected an object"),
        ("\xff", ":1:"),
    ],
)
def test_a_theme_that_cannot_be_used_says_why(tmp_path: Path, text: str, said: str):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "sea.json").write_bytes(text.encode("latin-1"))
    roots = [Root(kind="themes", path=str(tmp_path / "t"), source="user")]
    index = Index(str(tmp_path / "i"))
    theme = find_theme(index, roots, "custom:sea")
    assert isinstance(theme, Problem) and said in str(theme)
    assert theme_problems(index, roots) == [theme]


def test_a_theme_is_found_by_the_name_that_the_setting_has(tmp_path: Path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "sea.json").write_text('{"base": "light"}')
    roots = [Root(kind="themes", path=str(tmp_path / "t"), source="plugin", prefix="acme")]
    index = Index(str(tmp_path / "i"))
    assert find_theme(index, roots, "custom:acme:sea") == Theme(name="acme:sea", base="light")
    assert isinstance(find_theme(index, roots, "custom:sea"), Problem)


def test_styles_with_broken_headers_are_named_with_their_line(tmp_path: Path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.md").write_text("---\nname: ok\ndescription: [\n---\nx")
    (problem,) = style_problems(Index(str(tmp_path / "i")), [styles_root(tmp_path / "s")])
    assert problem.line == 4 and problem.file.endswith("a.md")
