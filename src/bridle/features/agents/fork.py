"""A fork: an agent that continues the conversation as it is now, with the same prefix to the byte."""

from collections.abc import Mapping

from bridle.transcripts.session import Session
from bridle.types.block import UserBlock, result_block, text_block
from bridle.types.variables import is_off, is_on

PLACEHOLDER = "Fork started — processing in background"
"""The result that every open call has in the eyes of a fork, so that all forks share a prefix."""
_TAG = "fork-boilerplate"

_RULES = f"""\
<{_TAG}>
You are a fork: a worker that continues this conversation, not its main agent.
- What the system prompt says about handing work to agents is not for you. Start no agent; use the tools \
yourself.
- Do not converse, ask or suggest. Write nothing between calls.
- Do what the directive says and nothing else.
- Commit changes to files before you report, and name the commit.
- Report once, at the end, in less than 500 words. Begin with "Scope:", then Result, Key files, \
Files changed and Issues, each only where there is something to say. Facts only; then stop.
</{_TAG}>
"""

_WORKTREE = """\
You work in a copy of the repository. The conversation so far was about {parent}. You are in the work tree \
{own} of the same repository, with the same layout. Translate paths accordingly, and read files again before \
you edit them. Your changes stay in the worktree.
"""


def may_fork(env: Mapping[str, str], *, interactive: bool) -> bool:
    """Whether a call without a type means a fork."""
    name = "CLAUDE_CODE_FORK_SUBAGENT"
    return is_on(env, name) or (interactive and not is_off(env, name))


def is_fork(session: Session) -> bool:
    """Whether this conversation is that of a fork already, which must not fork again."""
    marker = f"<{_TAG}>"
    return any(
        marker in block.get("text", "")
        for message in session.history.messages
        if message["role"] == "user" and not isinstance(message["content"], str)
        for block in message["content"]
        if block["type"] == "text"
    )


def fork_content(child: Session, directive: str, *, parent_cwd: str, cwd: str) -> list[UserBlock]:
    """The message with which a fork begins; siblings differ in its last block only."""
    notice = "" if cwd == parent_cwd else _WORKTREE.format(parent=parent_cwd, own=cwd)
    text = f"{_RULES}{notice}<fork-directive>{directive}"
    return [*(result_block(call["id"], PLACEHOLDER) for call in child.open_calls()), text_block(text)]
