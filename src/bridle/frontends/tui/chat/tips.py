"""What is worth knowing about the terminal, one line at a time."""

TIPS = (
    "shift+tab switches to plan mode: a plan first, no changes until you agree",
    "! runs a shell command, and the model sees what it printed",
    "# keeps a note for later conversations",
    "@ completes the names of files and folders",
    "esc stops the model; what you typed meanwhile comes back to the input",
    "esc twice goes back to an earlier prompt, with the files as they were",
    "ctrl+o shows everything: long output, thinking, the input of calls",
    "ctrl+b moves a long command to the background",
    "ctrl+r searches what you typed before",
    "ctrl+g writes the prompt in your editor",
    "/btw asks something on the side while the model works",
    "/context shows what fills the window, and what could go",
    "/resume finds earlier conversations by their words",
    "/rewind undoes changes to files, the conversation, or both",
    "/cost shows what was used, by day, model and source",
    "type while the model works: it reads your message at its next step",
)
"""Shown one after the other, at the start and while a turn takes long."""
_TIP_SECONDS = 3_600.0


def tip_at(now: float) -> str:
    """Another tip every hour."""
    return TIPS[int(now // _TIP_SECONDS) % len(TIPS)]
