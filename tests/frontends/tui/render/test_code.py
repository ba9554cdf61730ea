from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.tui.render.code import highlight
from bridle.frontends.tui.render.lexing import line_lexer
from bridle.frontends.tui.style.text import Line, text_of
from tests.frontends.tui.render.strategies import assert_sound, nasty_text


def _colors(line: Line) -> dict[str, str | None]:
    return {span.text: span.style.color for span in line}


def test_language_comes_from_its_name_or_the_name_of_a_file():
    by_name = highlight("def f(): return 'x'", language="python")
    assert _colors(by_name[0])["def"] == "code.keyword"
    assert _colors(by_name[0])["'x'"] == "code.string"
    assert highlight("def f(): return 'x'", path="/a/b.py") == by_name
    assert highlight("FROM x", path="Dockerfile")[0][0].style.color == "code.keyword"


def test_unknown_languages_are_never_guessed():
    (line,) = highlight("#!/usr/bin/python\ndef f(): pass"[18:], language="nonsense")
    assert [(span.text, span.style.color) for span in line] == [("def f(): pass", "code")]


def test_strings_and_comments_go_on_over_lines():
    text = '"""a\nb"""\nx = 1'
    assert [line[0].style.color for line in highlight(text, language="py")][:2] == ["code.string"] * 2
    for language in ("c", "js", "css", "rust", "java", "go"):
        lines = highlight("/* a\nb\nc */ x", language=language)
        assert [line[0].style.color for line in lines] == ["code.comment"] * 3
        assert lines[2][-1].style.color != "code.comment"


def test_a_glob_in_a_shell_command_is_no_comment():
    assert all(
        span.style.color != "code.comment"
        for line in highlight("ls /*\nls", language="bash")
        for span in line
    )


def test_very_long_code_stays_plain():
    lines = highlight("x = 1\n" * 5_001, language="python")
    assert lines[0] == lines[5_000 - 1]
    assert lines[0][0].style.color == "code"


@given(
    nasty_text,
    st.sampled_from(("python", "js", "html", "yaml", "json", "bash", "diff", "markdown", "sql", "")),
)
def test_colors_never_change_the_text(text: str, language: str):
    lines = highlight(text, language=language)
    assert_sound(list(lines), 10_000)
    assert [text_of(line) for line in lines] == [text_of(line) for line in highlight(text)]


def test_a_line_looks_the_same_whatever_follows():
    first = line_lexer("js").pieces("const a = `x ${1} /* y")
    lexer = line_lexer("js")
    assert lexer.peek("const a = `x ${1} /* y") == first
    assert lexer.pieces("const a = `x ${1} /* y") == first
