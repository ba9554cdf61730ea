import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.extensions.literals import read_literal
from bridle.types.errors import ConfigError
from tests.tables import table

HEAD = "export const meta = "


def test_every_kind_of_literal_is_read():
    source = r"""// a workflow
/* with a
   long comment */
export const meta = {
  name: 'it\'s', "quoted-key": "say \"hi\"\n", `x`: 1,
  template: `two
lines \${kept} \u{1F600}\ud83d\ude00\x41`, // behind
  numbers: [0, -1, +2, 1.5, .5, 5., 1e3, 1_000, 0x1F, 0o17, 0b101,],
  words: [true, false, null, undefined],
  nested: { a: [[], {}], 7: 'seven', $id: '', },
};
phase('x')
"""
    assert read_literal(source.replace("`x`: 1,", "")) == {
        "name": "it's",
        "quoted-key": 'say "hi"\n',
        "template": "two\nlines ${kept} \U0001f600\U0001f600A",
        "numbers": [0, -1, 2, 1.5, 0.5, 5, 1000, 1000, 31, 15, 5],
        "words": [True, False, None, None],
        "nested": {"a": [[], {}], "7": "seven", "$id": ""},
    }


@pytest.mark.parametrize("gap", ["", " ", "\n", "\r\n", "/* x */", "// x\n"])
def test_space_and_comments_may_stand_everywhere(gap: str):
    parts = ["", "export ", "const ", "meta", "=", "{", "a", ":", "[", "1", ",", "]", "}", ";"]
    assert read_literal(gap.join(parts)) == {"a": [1]}


@table(
    ("literal", "fault"),
    [
        ("{\n\n a: f(1) }", "line 3 calls a function"),
        ("{ a: x.y }", "line 1 calls a function"),
        ("{ a: new Date(0) }", "line 1 calls a function"),
        ("{ a: name }", "line 1 uses a variable, name"),
        ("{ name }", "line 1 uses a variable"),
        ("{ run() {} }", "line 1 calls or declares a function"),
        ("{\n ...rest }", "line 2 spreads another value"),
        ("[...rest]", "line 1 spreads another value"),
        ("{ ['a']: 1 }", "line 1 computes a name"),
        ("{ a: `x ${y}` }", "line 1 inserts a value into a string"),
        ("{ a: `x \\\\${y}` }", "line 1 inserts a value into a string"),
        ("{ a: 'x' + 'y' }", "line 1 computes a value"),
        ("{ a: 1 ? 2 : 3 }", "line 1 computes a value"),
        ("{}\n(async () => {})()", "line 2 calls a function"),
        ("{ a: 'x' b: 1 }", "line 1 is missing a comma or a closing brace"),
        ("[1 2]", "line 1 is missing a comma or a closing bracket"),
        ("[1,,2]", "line 1 has ',' in place of a value"),
        ("{ a: 'open }", 'line 1 has "\'" in place of a value'),
        ("{ a: 1\n", "line 2 is missing a comma or a closing brace"),
        ("{ a:", "line 1 has its end in place of a value"),
        ("{ , }", "line 1 has ',' in place of a name"),
        ("[" * 40, "line 1 is nested too deeply"),
    ],
)
def test_what_is_no_plain_literal_is_named_with_its_line(literal: str, fault: str):
    with pytest.raises(ConfigError) as caught:
        read_literal(HEAD + literal)
    assert str(caught.value) == f"meta must be a plain literal: {fault}"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("", 1),
        ("// nothing\n\nphase('x')", 3),
        ("const meta = {}", 1),
        ("export default {}", 1),
        ("export const metadata = {}", 1),
        ("import x from 'y'\nexport const meta = {}", 1),
        ("#!/usr/bin/env node\nexport const meta = {}", 1),
    ],
)
def test_script_that_begins_otherwise_is_told_so(source: str, line: int):
    with pytest.raises(ConfigError) as caught:
        read_literal(source)
    assert str(caught.value) == f"line {line}: a script begins with `export const meta = {{…}}`"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**52), 2**52) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_JSON, st.booleans())
def test_every_json_value_is_a_literal(value: Any, pretty: bool):
    assert read_literal(HEAD + json.dumps(value, indent=2 if pretty else None)) == value


@given(st.text(alphabet="{}[]:,'\"`\\/*.$()+-_x01eu\n \u2028", max_size=60))
def test_no_text_breaks_the_reader(text: str):
    try:
        read_literal(HEAD + text)
    except ConfigError as error:
        assert "line" in str(error)
