"""Commands of 10,000 characters in every shape that could take long to judge."""

LONGEST = 10_000


def _filled(repeated: str, head: str = "", tail: str = "") -> str:
    room = LONGEST - len(head) - len(tail)
    return head + repeated * (room // len(repeated)) + tail


def _listed(written: str, head: str = "", tail: str = "") -> str:
    """Many words or commands, each with another number in it."""
    found, number = head, 0
    while len(found) + len(piece := written.format(number)) + len(tail) <= LONGEST:
        found, number = found + piece, number + 1
    return found + tail


SHAPES = {
    "environments": _filled("A=1 B=2 ", tail="ls"),
    "distinct environments": _listed("A{}=1 ", tail="ls"),
    "environments of env": _filled("A=1 B=2 ", "env ", "ls"),
    "nested environments": _filled("env A=1 ", tail="ls"),
    "targets": _filled(" >a", "ls"),
    "distinct targets": _listed(" >a{}", "ls")[: 1_000 * 6],
    "errors appended": _filled(" 2>>bbbbb", "ls")[: 9 * 990],
    "inputs": _filled(" <bbbbbbb", "cat")[: 9 * 990],
    "copies of descriptors": _filled("     2>&1 ", "ls ")[: 10 * 990],
    "here-strings": _filled("<<<aaaaaaa ", "cat ")[: 11 * 330],
    "nice": _filled("nice ", tail="ls"),
    "nice with a number": _filled("nice -n 5 ", tail="ls"),
    "sudo": _filled("sudo ", tail="ls"),
    "several wrappers": _filled("stdbuf -oL env A=1 timeout 5 nice -n 3 ", tail="ls"),
    "builtins": _filled("builtin command ", tail="ls"),
    "xargs": _filled("xargs ", tail="ls"),
    "unknown options of docker": _filled("--zz x ", "docker ", "run a"),
    "options of git": _filled("-C . ", "git ", "push"),
    "settings of git": _filled("-c a.b=c ", "git ", "push"),
    "containers in containers": _filled("docker run --zz ", tail="ls"),
    "searches in searches": _filled("find . -exec ", tail="ls \\;"),
    "searches that run": _filled("-exec ls {} \\; ", "find . "),
    "a long word": _filled("a", "ls "),
    "a long path": _filled("ab/", "cat /"),
    "words": _filled("a ", "ls "),
    "distinct files": _listed("src/f{} ", "cat "),
    "removed files": _listed("src/f{} ", "rm "),
    "double quotes": _filled('"a" ', "echo "),
    "joined quotes": _filled('"a"', "echo "),
    "single quotes": _filled("'a' ", "echo "),
    "escapes": _filled("\\a", "echo "),
    "words in codes": _filled("$'a\\n' ", "echo "),
    "one word in codes": _filled("\\x41", "echo $'", "'"),
    "a brace list": _filled("aaa,", "echo {", "b}"),
    "brace lists": _filled("{a,b} ", "echo "),
    "joined brace lists": _filled("{a,b}", "echo "),
    "nested brace lists": "echo " + "{a," * 2_400 + "b" + "}" * 2_400,
    "brace ranges": _filled("{1..9} ", "echo "),
    "removed brace lists": _filled("{a,b} ", "rm "),
    "patterns": _listed("*.p{} ", "ls "),
    "variables": _filled("$a ", "ls "),
    "defaults": _filled("${a:-b} ", "ls "),
    "words of a loop": _filled("w ", "for a in ", "; do ls $a; done"),
    "pipes": _filled(" | grep aa", "cat a")[: 10 * 950],
    "wide pipes": ("cat a" + f" | grep {'a' * 200}" * 45),
    "semicolons": _filled("ls aaaaaaaa; "),
    "distinct commands": _listed("ls -la d{} && ", tail="ls"),
    "wide commands": _listed("ls a{} " + "a " * 100 + "; "),
    "subshells": "(" * 4_990 + "ls" + ")" * 4_990,
    "substitutions in substitutions": "echo " + "$(echo " * 190 + "a" + ")" * 190,
    "the same in quotes": "echo " + '"$(echo ' * 190 + "a" + ')"' * 190,
    "backquotes": _filled("`ls` ", "echo ")[: 5 * 99],
    "groups": _filled("{ ", tail="ls"),
    "a here-document": _filled("line of text here\n", "cat <<E\n", "E"),
    "a here-document with variables": _filled("line $x of ${y} text\n", "cat <<E\n", "E"),
    "a script in a here-document": _listed("ls -la src{}\n", "bash <<E\n", "E"),
    "here-documents": _filled("cat <<E\nabcdefghijk\nE\n"),
    "a script as a word": _listed("ls {};", "bash -c '", "'"),
    "a script on another machine": _listed("ls -la {};", "ssh host '", "'"),
    "branches": _filled("a) ls;; ", "case x in ", "esac"),
    "conditions": _filled("a == b && ", "[[ ", "a ]]"),
    "arithmetic": _filled("$((1+2)) ", "echo "),
    "one sum": _filled("1+", "echo $((", "1))"),
    "a program of sed": _filled("1p;", "sed -n '", "' a"),
    "a program of awk": _filled("print $1;", "awk '{", "}' a"),
    "a filter of jq": _filled(".a | ", "jq '", ".b' f"),
    "written files": _filled("a ", "ls | tee "),
    "settings": _filled("A=b ", "export "),
    "functions": _listed("f{}() {{ ls; }}; ", tail="f1"),
    "comments": _filled("# aaaaaaaa\n", tail="ls"),
    "continued lines": _filled("\\\n a", "ls "),
    "letters beyond ASCII": _filled("é", "echo "),
    "processes": _filled("<(ls a) ", "diff ")[: 8 * 195],
    "negations": _filled("! ", tail="ls")[:2_000],
}  # fmt: skip
