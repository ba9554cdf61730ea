"""Styled text: its width in cells, its colours, and the theme."""
