from bridle.commands.queries.documentation import Page
from bridle.frontends.tui.screens.docs.browser import docs_view
from bridle.frontends.tui.screens.docs.reader import unwrapped
from tests.frontends.tui.screens.showing import Showing, assert_screens

_LONG = "\n\n".join(f"Paragraph {number}." for number in range(60))
_PAGES = (
    Page(
        "keys",
        "Keys",
        f"# Keys\n\nEvery key can be\nchanged.\n\n## Chords\n\nTwo.\n\n{_LONG}\n\n## Reset\n\nThe last word.",
    ),
    Page(
        "models",
        "Models and costs",
        "# Models and costs\n\nA model is `vendor/name`.\n\n## Local\n\nOllama is found.",
    ),
)


def _docs(topic: str = "") -> Showing:
    return Showing(docs_view(_PAGES, topic=topic, version="1.2.3"))


def test_screens():
    assert_screens("docs", _docs().view)
    assert_screens("docs-page", _docs("keys").view)


def test_the_changelog_begins_with_what_is_new():
    text = f"# Changelog\n\nWhat a changelog is.\n\n## [Unreleased]\n\n- Newest.\n\n{_LONG}"
    view = docs_view((Page("changelog", "Changelog", text),), topic="changelog", version="1.2.3")
    shown = Showing(view).text
    assert "Newest." in shown and "What a changelog is." not in shown


def test_typing_searches_in_the_text_of_all_pages_and_enter_opens_the_section():
    shown = _docs().type("last word")
    assert shown.selected == "keys: Reset The last word."
    page = shown.press("enter").text
    assert page.startswith("Docs: Keys") and "The last word." in page and "Every key" not in page


def test_an_empty_search_lists_the_pages_again():
    shown = _docs().type("ollama")
    assert shown.selected == "models: Local Ollama is found."
    assert shown.press("escape").selected.startswith("keys Keys Every key")


def test_a_page_is_searched_and_escape_leads_back_one_step_at_a_time():
    shown = _docs("keys").press("/").type("paragraph 5")
    assert "11 found" in shown.text
    assert "/paragraph 5 2 of 11" in shown.press("enter", "n").text
    assert "/paragraph 5 1 of 11" in shown.press("N").text
    assert "type to search" in shown.press("escape").text
    assert shown.press("escape").value is None


def test_dropping_a_search_leads_back_to_where_it_began():
    shown = _docs("keys").press("pagedown")
    before = shown.text
    assert shown.press("/").type("last word").text != before
    assert shown.press("escape").text == before


def test_q_closes_a_page_and_is_a_letter_in_the_list():
    assert _docs("models").press("q").value is None
    shown = _docs().press("q")
    assert shown.closed is None and "/ q" in shown.text


def test_a_page_scrolls_and_keeps_its_place_when_the_window_changes():
    shown = _docs("keys").press("end")
    assert "The last word." in shown.text and "100%" in shown.text
    shown.width = 60
    assert "The last word." in shown.text
    assert "Every key can be changed." in shown.press("home").text


def test_an_unknown_topic_and_no_pages_show_a_list():
    assert "type to search" in _docs("nowhere").text
    assert "missing from this installation" in Showing(docs_view(())).text


def test_paragraphs_are_joined_and_nothing_else_is():
    text = "# A\nb\nc\n\n- d\n  e\n- f\n\n| x |\n|---|\n| y |\n\n```sh\ng\nh\n```\n\n> i\n\n1. j\n   k\n"
    assert unwrapped(text) == (
        "# A\nb c\n\n- d e\n- f\n\n| x |\n|---|\n| y |\n\n```sh\ng\nh\n```\n\n> i\n\n1. j k\n"
    )
