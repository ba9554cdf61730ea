from bridle.types.nearest import did_you_mean, nearest
from tests.tables import table

_KNOWN = (
    "agents", "config", "mcp", "models", "remote", "trust", "--output-format", "--json",
    "permissions.defaultMode", "Read", "WebFetch",
)  # fmt: skip


@table(
    ("word", "meant"),
    [
        ("confg", "config"), ("cofnig", "config"), ("mpc", "mcp"), ("conf", "config"), ("MODELS", "models"),
        ("--jsno", "--json"), ("--output", "--output-format"), ("--outptu-fromat", "--output-format"),
        ("permision.defaultmode", "permissions.defaultMode"), ("read", "Read"), ("webfetch", "WebFetch"),
        ("config", "config"),
        ("test", None), ("events", None), ("commit", None), ("c", None), ("", None), ("hello", None),
    ],
)  # fmt: skip
def test_the_name_that_was_probably_meant(word: str, meant: str | None):
    assert nearest(word, _KNOWN) == ([] if meant is None else [meant])


def test_the_question_is_the_end_of_a_sentence():
    assert did_you_mean("--foo", ["--food", "--bar"]) == ": did you mean --food?"
    assert did_you_mean("foo", ["food"], prefix="/") == ": did you mean /food?"
    assert did_you_mean("sonet", ["sonnet", "sonnets"], most=2) == ": did you mean sonnet or sonnets?"
    assert did_you_mean("zzz", ["food"]) == ""
