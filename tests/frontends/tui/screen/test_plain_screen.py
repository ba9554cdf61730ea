from bridle.frontends.tui.screen.plain_screen import PlainScreen
from bridle.frontends.tui.style.text import Line, line
from tests.fakes.terminal import FakeOutput


def _lines(*texts: str) -> list[Line]:
    return [line(text) for text in texts]


def _screen() -> tuple[PlainScreen, FakeOutput]:
    output = FakeOutput(40, 10, is_dumb=True)
    return PlainScreen(output), output


def test_everything_is_said_once_and_in_order():
    screen, output = _screen()
    screen.write(_lines("finished"))
    screen.show(_lines("────", "status", "> "), (2, 2))
    screen.show(_lines("────", "status", "> "), (2, 2))
    screen.write(_lines("more"))
    screen.show(_lines("────", "status two", "> "), (2, 2))
    assert "".join(output.written) == "finished\r\nstatus\r\n>\r\nmore\r\nstatus two\r\n>"


def test_typed_characters_are_heard_as_they_are_typed():
    screen, output = _screen()
    for text in ("> ", "> h", "> hi", "> h", "> hat"):
        screen.show(_lines("────", text), (1, len(text)))
    assert "".join(output.written) == "> h" + "i" + "\b \b" + "at"
    assert "\x1b" not in "".join(output.written)


def test_another_text_is_said_on_a_line_of_its_own():
    screen, output = _screen()
    screen.show(_lines("> abc"), (0, 5))
    screen.show(_lines("> xyz"), (0, 5))
    assert "".join(output.written) == "> abc\r\n> xyz"
    assert screen.parting() == "\r\n"
