"""Screens that choose one value: model, theme, output style, help."""
