"""Writes the file that tells the model about each tool."""

from bridle.tools import definitions

with open(definitions.PATH, "wb") as file:
    file.write(definitions.build())
