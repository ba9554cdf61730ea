from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.frontends.tui.editing.editor import Editor
from bridle.frontends.tui.editing.vim import Vim
from bridle.frontends.tui.terminal.keys import Key
from tests.tables import table

_ESCAPE = "\x1b"


def _vim(text: str, cursor: int = 0) -> Vim:
    editor = Editor()
    editor.set(text, cursor=cursor)
    editor._undo.clear()
    vim = Vim(editor)
    vim.mode = "NORMAL"
    return vim


def _type(vim: Vim, keys: str) -> None:
    for character in keys:
        if character == _ESCAPE:
            vim.press(Key("escape"))
        elif character == "\n":
            vim.editor.newline()
        else:
            vim.press(Key(character.lower(), shift=character.isupper(), text=character))


def _state(vim: Vim) -> str:
    """The text with a bar before the cursor."""
    text, at = vim.editor.text, vim.editor.cursor
    return f"{text[:at]}|{text[at:]}"


@table(
    ("keys", "left"),
    [
        ("wcwX Y\x1bu", "one |two three"),
        ("cwA\x1bwcwB\x1bu", "A |two three"),
        ("cwA\x1bwcwB\x1buu", "|one two three"),
        ("cwA\x1bw.u", "A |two three"),
        ("ofour five\x1bu", "one two thre|e"),
        ("A four\x1bxu", "one two three fou|r"),
    ],
)
def test_a_change_is_undone_with_what_was_typed_for_it(keys: str, left: str):
    vim = _vim("one two three")
    _type(vim, keys)
    assert _state(vim) == left


@table(
    ("before", "keys", "after"),
    [
        ("|one two three", "w", "one |two three"),
        ("|one two three", "2w", "one two |three"),
        ("one two |three", "b", "one |two three"),
        ("|one two", "e", "on|e two"),
        ("|a.b c", "w", "a|.b c"),
        ("|a.b c", "W", "a.b |c"),
        ("a.b |c", "B", "|a.b c"),
        ("|a.b c", "E", "a.|b c"),
        ("  on|e", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one", "$", "on|e"),
        ("|one two", "ft", "one |two"),
        ("|one two", "tt", "one| two"),
        ("one tw|o", "Fo", "|one two"),
        ("one tw|o", "To", "o|ne two"),
        ("|a.b.c.d", "f.;", "a.b|.c.d"),
        ("|a.b.c.d", "f.;,", "a|.b.c.d"),
        ("|a\nb\nc", "G", "a\nb\n|c"),
        ("a\nb\n|c", "gg", "|a\nb\nc"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("|a\nb", "j", "a\n|b"),
        ("a\n|b", "k", "|a\nb"),
        ("|a\n\nb", "}", "a\n|\nb"),
        ("a\n\n|b", "{", "a\n|\nb"),
        ("|one", "l", "o|ne"),
        ("on|e", "h", "o|ne"),
        ("|one two three", "dw", "|two three"),
        ("|one two three", "d2w", "|three"),
        ("|one two three", "2dw", "|three"),
        ("one |two", "d$", "one| "),
        ("one |two", "D", "one| "),
        ("one two |three", "d0", "|three"),
        ("|one two", "de", "| two"),
        ("|one two", "dft", "|wo"),
        ("|one two", "dtt", "|two"),
        ("a\n|b\nc", "dd", "a\n|c"),
        ("|a\nb\nc", "2dd", "|c"),
        ("a\n|b", "dd", "|a"),
        ("|a\nb\nc", "dj", "|c"),
        ("a\nb\n|c", "dgg", "|"),
        ("|a\nb\nc", "dG", "|"),
        ("|one two", "cwten" + _ESCAPE, "te|n two"),
        ("one |two", "Cx" + _ESCAPE, "one |x"),
        ("|one\ntwo", "ccx" + _ESCAPE, "|x\ntwo"),
        ("|one", "sx" + _ESCAPE, "|xne"),
        ("on|e two", "diw", "| two"),
        ("on|e two", "daw", "|two"),
        ("one t|wo", "daw", "on|e"),
        ('say "he|llo" now', 'di"', 'say "|" now'),
        ('say "he|llo" now', 'da"', "say | now"),
        ("f(a, |b)", "di(", "f(|)"),
        ("f(a, |b) c", "da(", "f| c"),
        ("f(g(x)|, b)", "dib", "f(|)"),
        ("x[1|2]", "ci[9" + _ESCAPE, "x[|9]"),
        ("{a|}", "diB", "{|}"),
        ("<a|b>", "di<", "<|>"),
        ("|one", "x", "|ne"),
        ("|one", "2x", "|e"),
        ("on|e", "X", "o|e"),
        ("|one", "ra", "|ane"),
        ("|one", "2ra", "a|ae"),
        ("|one", "9ra", "|one"),
        ("|oNe", "3~", "On|E"),
        ("|a\n  b", "J", "a| b"),
        ("|one", "ix" + _ESCAPE, "|xone"),
        ("|one", "ax" + _ESCAPE, "o|xne"),
        ("  o|ne", "Ix" + _ESCAPE, "  |xone"),
        ("|one", "Ax" + _ESCAPE, "one|x"),
        ("|a\nb", "ox" + _ESCAPE, "a\n|x\nb"),
        ("a\n|b", "Ox" + _ESCAPE, "a\n|x\nb"),
        ("|one two", "dwP", "one| two"),
        ("|one two", "dwp", "tone| wo"),
        ("|a\nb", "ddp", "b\n|a"),
        ("|a\nb", "yyP", "|a\na\nb"),
        ("|a\nb", "yyjp", "a\nb\n|a"),
        ("|one two", "ywP", "one| one two"),
        ("|one", "x.", "|e"),
        ("|one two three", "dw.", "|three"),
        ("|a b c", "cwx" + _ESCAPE + "w.", "x |x c"),
        ("|a", "ox" + _ESCAPE + ".", "a\nx\n|x"),
        ("|one", "xu", "|one"),
        ("|one two", "dwuu", "|one two"),
        ("|a\nb", ">>", "  |a\nb"),
        ("|a\nb", "2>>", "  |a\n  b"),
        ("  |a", "<<", "|a"),
        ("|one two", "ved", "| two"),
        ("|one two", "vey$p", "one twoon|e"),
        ("one t|wo", "viwcx" + _ESCAPE, "one |x"),
        ("|one", "v~", "|One"),
        ("|one", "dq", "|one"),
        ("|one", "3q", "|one"),
        ("|日本 x", "x", "|本 x"),
    ],
)
def test_commands_do_what_vim_does(before: str, keys: str, after: str):
    vim = _vim(before.replace("|", "", 1), before.index("|"))
    _type(vim, keys)
    assert (_state(vim), vim.mode, vim.pending) == (after, "NORMAL", "")


def test_it_starts_inserting_and_escape_leaves():
    editor = Editor()
    vim = Vim(editor)
    _type(vim, "hi")
    assert (vim.mode, editor.text) == ("INSERT", "hi")
    _type(vim, _ESCAPE)
    assert (vim.mode, _state(vim)) == ("NORMAL", "h|i")


def test_unfinished_commands_are_shown_and_escape_drops_them():
    vim = _vim("one two")
    _type(vim, "2d")
    assert vim.pending == "2d"
    _type(vim, _ESCAPE + "w")
    assert _state(vim) == "one |two"


def test_two_keys_can_stand_for_escape():
    vim = Vim(Editor(), remaps={"jj": "<Esc>"})
    _type(vim, "ajj")
    assert (vim.mode, vim.editor.text) == ("NORMAL", "a")


def test_arrow_keys_move_and_other_keys_are_left_to_the_program():
    vim = _vim("ab")
    assert vim.press(Key("right")) and _state(vim) == "a|b"
    assert not vim.press(Key("t", ctrl=True))
    assert not vim.press(Key("enter"))


def test_ctrl_r_makes_an_undone_change_again():
    vim = _vim("one")
    _type(vim, "xu")
    assert vim.press(Key("r", ctrl=True)) and _state(vim) == "|ne"


def test_a_selection_covers_the_character_under_the_cursor():
    vim = _vim("one two")
    _type(vim, "ve")
    assert (vim.mode, vim.selection) == ("VISUAL", (0, 3))


@settings(max_examples=300)
@given(
    st.text(alphabet=st.sampled_from('ab (")\n日. '), max_size=20),
    st.text(alphabet=st.sampled_from('dcywbeWBE0^$ftFT;,Gg{}ia"(x2rJoOpPu.~v><hjkl' + _ESCAPE), max_size=30),
)
def test_any_keys_leave_a_cursor_inside_the_text(text: str, keys: str):
    vim = _vim(text)
    _type(vim, keys)
    assert 0 <= vim.editor.cursor <= len(vim.editor.text)
