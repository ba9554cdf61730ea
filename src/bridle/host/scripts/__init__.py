"""Workflow scripts: JavaScript that runs in a confined child and asks us to do things."""
