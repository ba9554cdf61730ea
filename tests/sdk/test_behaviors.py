from tests.sdk.behaviors import table, written


def test_the_document_lists_every_behavior_and_no_other():
    assert written() == table(), "run python -m tests.sdk.behaviors"


def test_there_are_as_many_as_promised():
    rows = table().splitlines()[2:]
    assert sum("✓ | ✓" in row for row in rows) >= 60, "under the current and the older release"
    assert sum(row.endswith("| ✓ |") for row in rows) >= 20, "under node"
