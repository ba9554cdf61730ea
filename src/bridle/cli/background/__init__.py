"""Sessions that go on without a terminal: how they are started, looked at, moved and ended."""
