"""The shell tool and what it makes of commands and their output."""
