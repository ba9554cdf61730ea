"""Styled text: its width in cells, its colors, and the theme."""
