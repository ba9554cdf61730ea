"""Commands made from a grammar: everyday reading in every spelling that bash allows, canaries between."""

import random
from collections.abc import Callable, Sequence

Make = Callable[["Maker"], str]

PAYLOADS = (
    "touch pwned", "touch${IFS}pwned", "pwned", ">pwned", "echo x >pwned", ": >>pwned", "cp a.txt pwned",
    "tee pwned", "mkdir pwned", "ln -s a.txt pwned", "cat ../outside/secret.txt", "cat ~/.profile", "env",
    "echo $API_TOKEN", "echo x >/dev/tty", "eval 'touch pwned'", "sh -c 'touch pwned'", "touch 'pwned'",
    "exec touch pwned", "command touch pwned", "\\touch pwned", "cat </dev/tcp/127.0.0.1/9", ". ./a.txt",
    "sort -o pwned a.txt", "find . -exec touch pwned \\;", "git -C bare status", "cd bare && git status",
)  # fmt: skip
"""Each touches a canary when it runs."""

_FILES = (
    "a.txt", "b.txt", "README.md", "src", "src/main.py", "data.json", "data.csv", "build.log", ".", "docs",
    "'with blank.txt'", "./a.txt", "empty", "missing", "src/*.py", "*.txt", "[ab].txt", "{a,b}.txt",
    "a?txt",
)  # fmt: skip
_ODD_FILES = (
    "link-out", "dirlink/secret.txt", "dirlink", "../outside/secret.txt", "~/.profile", "-o", "./-o", "*",
    "$HOME", "[z]q", "[[:alpha:]]q", "z[q]", "l*-out", "dirlink/*", "/dev/stdin", "/dev/tty", ".env", ".e*",
    "nowhere", "bare", "pointer", ".git/config", "..", "homelink/.profile", "$PWD/../outside/secret.txt",
    "/proc/self/environ",
)  # fmt: skip
_SIMPLE = (
    "ls", "ls -la", "cat", "head -n 3", "tail -2", "wc -l", "grep -n one", "grep -rn x", "sort", "sort -u",
    "uniq -c", "cut -d, -f1", "tr a b", "nl", "tac", "rev", "diff", "cmp", "stat", "file", "du -sh", "find",
    "md5sum", "od -c", "echo", "printf '%s\\n'", "basename", "dirname", "realpath", "readlink", "test -f",
    "[ -f", "jq .", "sed -n 1p", "awk '{print $1}'", "git status", "git log --oneline", "git diff",
    "git show", "git branch", "date", "pwd", "true", "column -t", "paste", "comm", "fold -w 10", "expr 1 +",
    "seq", "base64", "strings", "xxd", "hexdump -C", "rg one", "tree", "which", "type", "ps aux", "cal",
    "id", "egrep one", "git grep one", "git ls-files", "git blame", "cd", "git rev-parse HEAD",
    "git cat-file -p HEAD", "xargs echo", "xargs -0 grep x", "xargs cat", "tee /dev/null", "tee",
    "timeout 2 cat", "command cat", "builtin echo", "nice cat", "time cat", "env cat", "stdbuf -o0 cat",
)  # fmt: skip
_OPERATORS = (" && ", " || ", "; ", " | ", " |& ", " & ", "\n", " ;\n", "&&\n", "|\n")
_REDIRECTIONS = (
    "2>/dev/null", ">/dev/null", "2>&1", "&>/dev/null", "<a.txt", "<<<x", '<<<"$x"', "< link-out", ">pwned",
    ">|pwned", ">>pwned", "<>pwned", "2>pwned", "&>pwned", ">&pwned", "3<a.txt", "{fd}<a.txt", ">/dev/tty",
    "</dev/tty", ">$x", '>"$x"', "<~/.profile", ">&2", "<&0", "2>&-", "<a.txt>pwned", ">\\\npwned",
)  # fmt: skip
_EXPANSIONS = (
    "$(@)", "`@`", '"$(@)"', '"`@`"', "<(@)", ">(@)", "${x:-$(@)}", '"${x:-$(@)}"', "$((a[$(@)]))",
    "${a[$(@)]}", "${x/$(@)/y}", "${x@P}", "${!x}", "$[a[$(@)]]", "$x", '"$x"', "${x}", "$\\\n(@)",
    '"$\\\n(@)"', "\\$(@)", "'$(@)'", "$'\\x24(@)'", "$'$(@)'", '$"$(@)"', "${x:=$(@)}", "${x:?$(@)}",
    "${x:+$(@)}", "${x:$(@)}", "$(<a.txt)", "${x@Q}", "${#x}", "${x%$(@)}", "$((x))", "$((1+1))", "~", "~+",
    "{a,b}", "{1..3}", "$*", "$@", "$#", "$?", "$!", "$_", "$-", "$0", "${1-$(@)}", "$IFS", "${IFS}",
    "$(find src)", "$(find docs src -type f)", '"$(find src -name main.py | head -1)"',
    "$(ls src)", "$(git ls-files)",
    "$(grep -rl one src | sort)", "$(git rev-parse HEAD)", "$(git rev-list -1 HEAD)",
    "$(dirname src/main.py)",
    "$(basename src/main.py .py)", "${x/a/b}", "${x//./..}", "${x^^}", "$(find src; @)", "$(find src | @)",
    "$(( $(@) ))", "$'\\x{2d}o'", "$'\\055o'", "$'\\u002do'", "$\\\nx",
)  # fmt: skip
_ASSIGNMENTS = (
    "x='$(@)'", "x='a[$(@)]'", "x=a.txt", "x=../outside/secret.txt", "x=-o", "y=1", "x=$(@)", 'x="$(@)"',
    "x=~", "x=*", "IFS=,", "PATH=.", "x=(a b)", "x[$(@)]=1", "a[0]=1", "x+=y", "export x=1",
    "declare -i x='a[$(@)]'", "local x=1", "readonly x", "LC_ALL=C", "TZ=UTC", "x='@'", "x=`@`",
    "x=$(find src)", 'x="$(find src -type f | tail -1)"', "x=$(ls)", "x=$(dirname src/main.py)", "PAGER=cat",
    "x=$(git rev-parse HEAD)", "GIT_PAGER=cat", "LD_PRELOAD=x", "x=pwned", "z='(@)]'",
)  # fmt: skip
_HERE = (
    "cat <<E\n#\nE", "cat <<'E'\n#\nE", 'cat <<"E"\n#\nE', "cat <<-E\n\t#\n\tE", "cat <<\\E\n#\nE",
    "cat <<E; ls\n#\nE", "cat <<E | wc -l\n#\nE", "cat <<E\n#\nE; ls", "cat <<E\n\\\n#\nE",
    "cat <<E <<F\n#\nE\n#\nF", "cat <<E\n#\n E\nE", "cat <<E\n#\nE\\\n\nE", "cat <<E >pwned\n#\nE",
    "cat <<E$x\n#\nE$x", "cat <<E &&\n#\nE\nls", "cat << E\n#\nE\n", "cat <<''\n#\n\n", "cat <<E\n#",
    "cat <<E\n\n#\n\nE", "(cat <<E\n#\nE\n)", "$(cat <<E\n#\nE\n)", "cat <<-'E'\n\t#\n\tE",
)  # fmt: skip
_CONDITIONS = (
    "[[ # ]]", "[[ -f # ]]", "[[ # == # ]]", "[[ # -eq # ]]", "[[ # =~ # ]]", "[[ ! -f # || -d # ]]",
    "[[# ]]", "[[ # ]]x", "[[a || @ ]]", "[[ a && @ ]]", "[[ # < # ]]", "[[ # > pwned ]]", "[[ -v # ]]",
    "[[ ( # ) ]]", "[ # ]", "[ # -eq # ]", "[ # = # ]", "[ -f # -o -d # ]", "test # -eq #", "test -v #",
    "(( # ))", "((# > #))", "(( a[$(@)] ))", "[[\n# ]]", "[[ # ]] && @", "! [[ # ]]", "[[ #\n]]",
    "[[ # =~ ^(a|@) ]]", "[[ a;@ ]]", "[[ a & @ ]]", "[[ a | @ ]]",
)  # fmt: skip
_COMPOUNDS = (
    "if S; then S; fi", "if S; then S; else S; fi", "while S; do S; break; done", "until S; do S; done",
    "for x in W W; do S; done", 'for x in W; do cat "$x"; done', "for x in *; do S; done",
    "for ((i=0;i<2;i++)); do S; done", "case W in a) S;; *) S;; esac", "case W in (W) S ;& b|c) S ;; esac",
    "{ S; }", "( S )", "(S; S)", "! S", "time S", "f() { S; }; f", "function f { S; }", "S & S",
    "while read -r x; do S; done < a.txt", "S | while read x; do echo $x; done",
    "select x in W; do S; break; done", "coproc S", "{ S; S; } R", "( S ) R", "if S; then S; fi R",
    "for x in W; do S; done R", "cd src && S R", "(cd .git && S R)", "pushd src; S R", "x() (S)", "S |& S",
    "for x in $(find src); do S; done", 'for x in $(find src docs); do cat "$x"; done',
    "for x in $(ls); do S; done",
    'for x in $(find src -type f); do wc -l < "$x"; done', "find src | while read -r x; do S; done",
    'find src -type f | while read -r x; do head -1 "$x"; done',
    "find src | while IFS= read -r x; do cat $x; S; done",
    'x=$(find src | head -1); cat "$x"',
    "for x in $(git log --format=%h -2); do git show $x; done", "cat $(find src) R",
    "until ! S; do S; done", "{ S\n}", "if\nS\nthen\nS\nfi", "case x in esac; S", "for x; do S; done",
)  # fmt: skip
_BETWEEN = (" ", " ", " ", " ", "  ", "\t", " \\\n", "\\\n ", "\\\n")


_TOKENS = (
    "ls", "cat a.txt", "echo x", " ", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{ ", "; }", "'",
    '"', "`",
    "$(", "${x", "}", "$((", "))", "[[ ", " ]]", "<<E\n", "\nE\n", "<<<", ">", ">>", "<", ">&", "2>&1",
    "\\", "\\\n",
    "$'", "$x", "x=", "if ", "then ", "fi", "for x in ", "do ", "done", "case x in ", "esac", "x) ", ";;",
    "!", "#",
    "pwned", ">pwned", "touch pwned", "*", "?", "[a]", "{a,b}", "~", "-o", "--", "E", "time ", "f() ",
    "function f ",
    "git status", "grep -n x", "../outside/secret.txt", "<(", "a[", "]", "=~", " -eq ", "\t", "1", ",",
    "..", "@P}",
)  # fmt: skip


class TokenMaker:
    """Puts tokens of the shell together as they come."""

    def __init__(self, choose: random.Random) -> None:
        self._choose = choose

    def command(self) -> str:
        return "".join(self._choose.choices(_TOKENS, k=self._choose.randint(2, 7)))


class Maker:
    """Makes one command after the other from a source of chance."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self._pick = choose.choice
        self._chance = choose.random

    def command(self) -> str:
        """A whole command line."""
        chance = self._chance()
        if chance < 0.45:
            return self.joined()
        if chance < 0.6:
            return self.fill(self._pick(_COMPOUNDS))
        if chance < 0.72:
            return self.fill(self._pick(_CONDITIONS))
        if chance < 0.84:
            return self.fill(self._pick(_HERE))
        return f"{self.fill(self._pick(_ASSIGNMENTS))}{self._pick(_OPERATORS)}{self.joined()}"

    def joined(self) -> str:
        """Simple commands between operators."""
        made = self.simple()
        while self._chance() < 0.35:
            made += self._pick(_OPERATORS) + self.simple()
        return made

    def simple(self) -> str:
        """A command that reads, with words, and sometimes with a redirection or an assignment."""
        chance = self._chance()
        if chance < 0.04:
            return self.fill(self._pick(_COMPOUNDS), deep=True)
        if chance < 0.08:
            return self.fill(self._pick(_CONDITIONS))
        made = self._pick(_SIMPLE)
        for _ in range(self.choose.randrange(3)):
            made += self._pick(_BETWEEN) + self.word()
        if self._chance() < 0.2:
            made += " " + self._pick(_REDIRECTIONS)
        if self._chance() < 0.06:
            made = f"{self.fill(self._pick(_ASSIGNMENTS))} {made}"
        return made

    def word(self) -> str:
        """A file, an odd file, or something that bash fills in."""
        chance = self._chance()
        if chance < 0.55:
            return self.spelled(self._pick(_FILES))
        if chance < 0.75:
            return self.spelled(self._pick(_ODD_FILES))
        return self.expansion()

    def expansion(self) -> str:
        made = self._pick(_EXPANSIONS)
        return made.replace("@", self.payload()) if "@)" in made or "@`" in made else made

    def payload(self) -> str:
        return self._pick(PAYLOADS) if self._chance() < 0.8 else self._pick(_SIMPLE)

    def spelled(self, word: str) -> str:
        """The same word, now and then quoted, escaped or continued on the next line."""
        chance = self._chance()
        if chance < 0.7 or not word:
            return word
        if chance < 0.78:
            return f'"{word}"'
        if chance < 0.84:
            at = self.choose.randrange(len(word) + 1)
            return f"{word[:at]}\\\n{word[at:]}"
        if chance < 0.88:
            return f"'{word}'"
        at = self.choose.randrange(len(word))
        if chance < 0.92:
            return f"{word[:at]}\\{word[at:]}"
        if chance < 0.96:
            return f"{word[:at]}$'\\x{ord(word[at]) & 0xFF:02x}'{word[at + 1 :]}"
        return f"{word[:at]}$'\\x{{{ord(word[at]) & 0xFF:x}}}'{word[at + 1 :]}"

    def fill(self, pattern: str, *, deep: bool = False) -> str:
        """A pattern with its places filled in: S command, W word, R redirection, # text, @ canary."""
        made = pattern
        parts: Sequence[tuple[str, Callable[[], str]]] = (
            ("S", self._leaf if deep else self.simple),
            ("W", self.word),
            ("R", lambda: self._pick(_REDIRECTIONS)),
        )
        if any(mark in made for mark in "SWR"):
            made = "".join(self._filled(letter, parts, made, index) for index, letter in enumerate(made))
        if "#" in made:
            made = "".join(self.text() if letter == "#" else letter for letter in made)
        if "@" in made:
            made = "".join(self._at(made, index) for index in range(len(made)))
        return made

    def text(self) -> str:
        """What stands in a condition or a here-document."""
        chance = self._chance()
        if chance < 0.5:
            return self.expansion()
        if chance < 0.6:
            return f'"{self.expansion()} {self.expansion()}"'
        return self._pick(
            ("a", "1", "x y", "'q'", '"$x$z $y"', "$(@)".replace("@", self.payload()), "\\", "E", "")
        )

    def _leaf(self) -> str:
        return f"{self._pick(_SIMPLE)} {self.word()}"

    def _filled(
        self, letter: str, parts: Sequence[tuple[str, Callable[[], str]]], whole: str, index: int
    ) -> str:
        for mark, make in parts:
            if letter == mark and not _in_a_name(whole, index):
                return make()
        return letter

    def _at(self, made: str, index: int) -> str:
        means_itself = made[index - 1 : index] in ("$", "x") and made[index + 1 : index + 2] != ")"
        return made[index] if made[index] != "@" or means_itself else self.payload()


def _in_a_name(text: str, index: int) -> bool:
    """Whether a letter belongs to a longer word, such as the S of IFS."""
    return text[index - 1 : index].isalpha() or text[index + 1 : index + 2].isalpha()
