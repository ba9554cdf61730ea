"""The documentation as a view: its pages, a search in all of them, and a reader."""
