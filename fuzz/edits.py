"""File commands of accept-edits mode: copies, moves, links and redirections, inside and out."""

import random

_FOLDERS = (
    "src", "docs", ".git", ".git/hooks", ".claude", "payload", "through", "dirlink", "../outside", ".",
    "..", "new", "~", "homelink", "$HOME", "bare", "src/../.git", "./.git", ".GIT", "payload/.claude",
    "new/deep", ".venv/bin", ".vscode",
)  # fmt: skip
_FILES = (
    "a.txt", "b.txt", "src/util.py", "new.txt", "config", "settings.json", "pre-commit", "plain.txt",
    ".bashrc", ".mcp.json", "link-out", "dirlink/secret.txt", "../outside/new", "through/plain.txt",
    "nowhere", ".git/config", ".env", "-o", "*.txt", "{a,b}.txt", "s*", ".g*/config", "'with blank.txt'",
    "payload/plain.txt", "~/.profile", "$x", '"$x"', "x/y",
)  # fmt: skip
_COMMANDS = (
    "touch F", "mkdir -p D", "mkdir D", "rm F", "rm -r D", "rm -rf D/*", "rmdir D", "mv F F", "mv F D",
    "mv D D", "cp F F", "cp F D", "cp -r D D", "cp -rT D D", "cp -a D D", "cp -R D/. D", "cp -t D F",
    "cp -rt D D", "cp -s F F", "cp -l F F", "cp --parents F D", "cp -b F F", "cp -rP D D", "cp -rL D D",
    "mv -T D D", "mv -t D F", "ln -s F F", "ln F F", "sed -i s/one/1/ F", "sed -i.bak p F",
    "sed -n 'w F' a.txt", "echo x > F", "echo x >> F", "cat a.txt > F", "cat < F", "printf x > D/F",
    "tee F < a.txt", "cat <<E > F\nx\nE", "cp -r D/* D", "cp -r D/.* D", "mv D/* D", "chmod +x F",
    "dd of=F",
)  # fmt: skip
_AROUND = (
    "X", "X", "X", "X", "cd D && X", "cd D; X", "(cd D && X)", "pushd D; X", "cd D || X",
    "cd D && cd .. && X", "X && X", "X; X", "{ X; X; }", "if X; then X; fi", "for x in F F; do X; done",
    'x=F; X', "x=D; cd $x && X", "true && X", "X | cat", "cat a.txt | X", "cd D\nX", "cd D && { X; }",
    "(X) > F", "{ X; } > F", "! X", "cd D && true | X", "time X", "cd -P D && X", "cd -- D && X",
)  # fmt: skip


class EditMaker:
    """Makes commands that change files."""

    def __init__(self, choose: random.Random) -> None:
        self._choose = choose

    def command(self) -> str:
        choose = self._choose
        return "".join(
            self._filled(choose.choice(_COMMANDS)) if letter == "X" else self._place(letter)
            for letter in choose.choice(_AROUND)
        )

    def _filled(self, pattern: str) -> str:
        return "".join(map(self._place, pattern))

    def _place(self, letter: str) -> str:
        if letter == "F":
            chance = self._choose.random()
            file = self._choose.choice(_FILES)
            return f"{self._choose.choice(_FOLDERS)}/{file}" if chance < 0.2 else file
        return self._choose.choice(_FOLDERS) if letter == "D" else letter
