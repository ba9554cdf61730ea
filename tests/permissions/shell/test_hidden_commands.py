"""S10, S14, S15, S16, S18: a command that bash would find in a text is found here, however it is written."""

import pytest

from bridle.types.permission import Allow, Deny, Mode
from tests.permissions.cases import bash, rules
from tests.permissions.shell.readings import is_free
from tests.tables import table

CONTINUED = [
    'echo "$\\\n(touch pwned)"',
    "echo $\\\n(touch pwned)",
    'echo "$(\\\ntouch pwned)"',
    'cat <<< "$\\\n(touch pwned)"',
    'x="$\\\n(touch pwned)"',
    '[ -n "$\\\n(touch pwned)" ]',
    '[[ -n "$\\\n(touch pwned)" ]]',
    'case "$\\\n(touch pwned)" in a) ls;; esac',
    'for i in "$\\\n(touch pwned)"; do ls; done',
    "cat <<E\n$\\\n(touch pwned)\nE",
    "cat <<E\n$(\\\ntouch pwned)\nE",
    'x=a; echo "$\\\n{x@P}"',
    'x=a; echo "${\\\nx@P}"',
    'echo "$\\\n((z))"',
    'echo "$(\\\n(z))"',
    "sort $\\\n'-opwned' /dev/null",
    "sort -\\\nopwned /dev/null",
    "sort \\\n-opwned /dev/null",
    "cat $\\\nHOME/.profile",
    "cat ~\\\n/.profile",
    "cat .\\\n./x",
    "ls |\\\n& touch pwned",
    "ls &\\\n& touch pwned",
    "echo a >\\\n> pwned",
    "echo a >\\\npwned",
    "ls # \\\ntouch pwned",
    "ls \\\n; touch pwned",
    "ls \\\\\ntouch pwned",
    "echo 'a\\\n'; touch pwned",
    "echo $'a\\\n'; touch pwned",
    "cat <<'E'\na\\\nE\ntouch pwned\nE",
    "cat <<E\na\\\\\nE\ntouch pwned",
    "cat <<E\n\\\nE\ntouch pwned",
    "cat <<E\nx\nE\\\n\ntouch pwned",
    "cat <\\\n<E\n$(touch pwned)\nE",
    "cat <<\\\nE\n$(touch pwned)\nE",
    "echo `tou\\\nch pwned`",
    "tou\\\nch pwned",
    "\\\ntouch pwned",
    "echo ${x:-$\\\n(touch pwned)}",
]
CONDITIONS = [
    "[[a || touch${IFS}pwned ]]",
    "[[a && touch${IFS}pwned ]]",
    "[[a ; touch${IFS}pwned ]]",
    "[[a & touch${IFS}pwned ]]",
    "[[a | touch${IFS}pwned ]]",
    "[[a > /any/file ]]",
    "[[a < /any/file ]]",
    "[[a =~ x;touch${IFS}pwned ]]",
    '[["a" || touch${IFS}pwned ]]',
    "[[$x || touch${IFS}pwned ]]",
    "[[-f a || touch${IFS}pwned ]]",
    "[[! a || touch${IFS}pwned ]]",
    "x[[ a || touch${IFS}pwned ]]",
    "\\[[ a || touch${IFS}pwned ]]",
    "'[[' a || touch${IFS}pwned ]]",
    "[\\[ a || touch${IFS}pwned ]]",
    "time -p [[a || touch${IFS}pwned ]]",
    "! [[a || touch${IFS}pwned ]]",
    "command [[ a || touch${IFS}pwned ]]",
    "x=1 [[ a || touch${IFS}pwned ]]",
    "ls | x=1 [[ a || touch${IFS}pwned ]]",
    ">x [[ a || touch${IFS}pwned ]]",
    "[[ a ]]; touch pwned",
    "[[ a ]]; touch pwned ]]",
    "[[ a ]] || touch pwned ]]",
    "[[ a ]]&& touch pwned ]]",
    "[[ a ]] | touch pwned ]]",
    "[[ -n a]] || touch pwned ]]",
    "[[ a == b ]]b ]] || touch pwned",
    "[[ a\n]] || touch pwned",
    "if [[a || touch${IFS}pwned ]]; then ls; fi",
    "while [[a || touch${IFS}pwned ]]; do ls; done",
    "echo $([[a || touch${IFS}pwned ]])",
    "[a || touch${IFS}pwned ]",
    "[ a || touch pwned ]",
    "[ a > pwned ]",
]
ESCAPES = [
    "find . $'\\x{2d}exec' touch pwned \\;",
    "find . $'\\x{2d'exec touch pwned \\;",
    "find . $'\\x{002d}exec' touch pwned \\;",
    "find . $'\\x{12d}exec' touch pwned \\;",
    "find . $'\\x2dexec' touch pwned \\;",
    "find . $'\\055exec' touch pwned \\;",
    "find . $'\\55exec' touch pwned \\;",
    "find . $'\\455exec' touch pwned \\;",
    "find . $'\\u2dexec' touch pwned \\;",
    "find . $'\\u002dexec' touch pwned \\;",
    "find . $'\\U2dexec' touch pwned \\;",
    "find . $'\\U0000002dexec' touch pwned \\;",
    "find . $'-exec\\0' touch pwned \\;",
    "find . $'-exec\\x{}x' touch pwned \\;",
    "find . $'-exec\\400x' touch pwned \\;",
    "find . $'-exec\\c@x' touch pwned \\;",
    "find . $'-exec\\u0' touch pwned \\;",
    "sort $'\\x{2d}opwned' /dev/null",
    "cat $'\\x{2f}etc/hostname'",
    "cat $'\\57etc/hostname'",
    "cat $'\\u2fetc/hostname'",
    "cat $'.\\x2e/secret'",
]
DOCUMENTS = [
    'cat <<E\nx\nE; cat <<"E"\n$(touch pwned)\nE',
    "cat <<E\nx\nE # \n$(touch pwned)\nE",
    "cat <<E\nx\nE \n$(touch pwned)\nE",
    "cat <<E\nx\n E\n$(touch pwned)\nE",
    "cat <<E\nx\n\tE\n$(touch pwned)\nE",
    "cat <<-E\nx\n\t E\n$(touch pwned)\nE",
    "cat <<E\nx\nE)\n$(touch pwned)\nE",
    "cat <<E\n\\\n'$(touch pwned)'\nE",
    "cat <<E\n \\\n'$(touch pwned)'\nE",
    "cat <<E\n\n'$(touch pwned)'\nE",
    "cat <<E \\\n\n'$(touch pwned)'\nE",
    "cat <<E\n# $(touch pwned)\nE",
    "cat <<E\n`touch pwned`\nE",
    'cat <<E\n"$(touch pwned)"\nE',
    "cat <<E\n'`touch pwned`'\nE",
    "cat <<E\n${x@P}\nE",
    "cat <<E\n$((a[0]))\nE",
    "cat <<E\n$[a]\nE",
    "cat <<A <<B\nA\n$(touch pwned)\nB",
    "cat <<A <<'B'\n$(touch pwned)\nA\nB",
    "cat <<'A' <<B\nA\n$(touch pwned)\nB",
    "cat <<'E'\nx\nE\ntouch pwned\nE",
    "cat <<'E' | cat\nx\nE\ntouch pwned",
    "cat <<'E'; touch pwned\nx\nE",
    "cat <<'E' && touch pwned\nx\nE",
    "cat <<'E' & touch pwned\nx\nE",
    "cat <<'E'\nE\ntouch pwned",
    "cat <<''\n\ntouch pwned\n",
    "cat <<E\nx\nE\ntouch pwned",
    'cat <<"E F"\nx\nE F\ntouch pwned\nE F',
    "cat <<\\E\nx\nE\ntouch pwned\nE",
    "cat <<$E\n$(touch pwned)\n$E",
    "cat <<E$\n$(touch pwned)\nE$",
    "echo $(cat <<E\n$(touch pwned)\nE\n)",
    "echo \"$(cat <<'E'\nx\nE\ntouch pwned\n)\"",
    "cat <<E\n\\$(ls) $(touch pwned)\nE",
    # What bash prints of a substitution is what it runs, and it loses semicolons behind a here-document.
    "echo \"$(cat <<'E'\nx\nE\nfind .; test -delete\n)\"",
    "x=$(cat <<E\nx\nE\nsort a; echo -o pwned\n)",
    "cat <(cat <<E\nx\nE\nsort a; echo -o pwned\n)",
    "echo $(if true; then cat <<E\nx\nE\nsort a; echo -o pwned; fi)",
    "echo $(cat <<E && sort a; echo -o pwned\nx\nE\n)",
    "cat <<E\n\\\\$(touch pwned)\nE",
]
OPERANDS = [
    "x='a[$'; z='(touch pwned)]'; y=1; [[ \"$x$z $y\" -eq 1 ]]",
    "x='a[$'; z='(touch pwned)]'; y=1; [[ \"$x$z && $y\" -eq 1 ]]",
    "x='a[$(touch pwned)]'; [[ $x -eq 1 ]]",
    "x='a[$(touch pwned)]'; [[ 1 -eq $x ]]",
    "x='a[$(touch pwned)]'; [[ 1 -eq 1 && $x -lt 1 ]]",
    "x='a[$(touch pwned)]'; [[ ( $x -lt 1 ) ]]",
    "x='a[$(touch pwned)]'; [[ ($x -lt 1) ]]",
    "x='a[$(touch pwned)]'; [[ ! $x -lt 1 ]]",
    "x='a[$(touch pwned)]'; [[ 1 -eq 1 &&x -lt 1 ]]",
    "x='a[$(touch pwned)]'; [[ 1 -eq 1&&x -lt 1 ]]",
    "x='a[$(touch pwned)]'; [[ x -gt 0 ]]",
    "x='a[$(touch pwned)]'; [[ a[x] -gt 0 ]]",
    "x='a[$(touch pwned)]'; [[ 'x' -gt 0 ]]",
    "x='a[$(touch pwned)]'; [[ -v $x ]]",
    "x='a[$(touch pwned)]'; [[ -v x[0] ]]",
    "x='a[$(touch pwned)]'; [[ -R $x ]]",
    "x='a[$(touch pwned)]'; [[ 5 -eq 5 || -v $x ]]",
    "x='a[$(touch pwned)]'; [ -v $x ]",
    "x='a[$(touch pwned)]'; test -v $x",
    "[[ $FOREIGN -eq 1 ]]",
    "[[ 1 -eq FOREIGN ]]",
    "x=1; [[ $x$y -eq 1 ]]",
    'x=1; [[ $x"$y" -eq 1 ]]',
    "[[ $(cat evil) -eq 1 ]]",
    '[[ "$(cat evil | wc -l) $y" -eq 1 ]]',
]


@table("command", [*CONTINUED, *CONDITIONS, *ESCAPES, *DOCUMENTS, *OPERANDS])
def test_it_is_never_free(command: str):
    """S10, S15"""
    assert not is_free(command)
    assert not isinstance(bash(command), Allow)


FREE = [
    "ls \\\n -l",
    "ls \\\n\\\n -l",
    "l\\\ns -l",
    "cat <<'E'\nFROM x \\\n  y\\\nz\nE",
    "[[( a || touch${IFS}pwned ) ]]",
    "git log \\\n  --oneline \\\n  -5 | head",
    'grep -r "a \\\nb" src',
    "grep -r 'a\\\nb' src",
    "ls && \\\n  pwd",
    "cat a # what \\\nls",
    "cat <<E\nFROM x \\\n  y\nE",
    "cat <<E\nE",
    "echo \"$(cat <<'E'\nx; y\nE\n)\"",
    'echo "$(cat <<E | grep x\nx\nE\n)"',
    "cat <<E\n\n\nE",
    "cat <<-E\n\tx\n\tE",
    "cat <<E | grep x\nx y\nE",
    "cat <<E && ls\nx y\nE",
    'cat <<E\nit\'s "quoted" # here\nE',
    "cat <<'E'\n$(touch x) `y` ${z\nE",
    "[[ -f a && -d b ]] && echo ok",
    "[[ -f a || ! -d b ]]",
    "[[ ( -f a ) && b == c* ]]",
    "[[ abc =~ ^(a|b)c+$ ]]",
    "[[ abc =~ a.c ]]",
    "[[ a < b ]]",
    "[[ a > b ]]",
    "x=1; [[ $x -eq 1 ]]",
    "x=1; [[ $x -eq 1 && 2 -gt $x ]]",
    "[[ $# -gt 0 || $? -ne 0 ]]",
    "n=$(ls | wc -l); [[ $n -gt 3 ]] && echo many",
    "[[ $(git status --short | wc -l) -gt 0 ]]",
    "echo $'a\\tb\\n'",
    "grep $'\\t' a",
    "printf '%s\\n' $'\\x41\\x{42}\\103\\u44'",
]


@table("command", FREE)
def test_what_only_looks_odd_stays_free(command: str):
    """S20"""
    assert is_free(command)


INTO_PROTECTED = [
    "cd .git/hooks && echo x > pre-commit",
    "cd .git && echo x > hooks/pre-commit",
    "(cd .claude && echo '{}' > settings.json)",
    "(cd .git && printf x >> config)",
    "{ cd .git && printf x >> config; }",
    "pushd .git && echo x > config",
    "cd .git; echo x > config",
    "cd .git || true; echo x > config",
    "cd x || cd .git && echo x > config",
    "cd .git && echo x | cat > config",
    "cd .git && ls && echo x > config",
    "cd .git && ! echo x > config",
    "cd .git && > config",
    "cd .git && { echo a; } > config",
    "cd .git && (echo a) > config",
    "cd .git && for i in a; do echo a; done > config",
    "cd .git && if true; then echo a; fi > config",
    "cd .git && cat <<E > config\nx\nE",
    "cd .git && cat > config <<E\nx\nE",
    "cd .git && cat <<E | tee config\nx\nE",
    "cd .git && cat <<'E' && touch config\nx\nE",
    "cd .git && echo x &> config",
    "cd .git && echo x 2> config",
    "cd .git && echo x >| config",
    "cd .git && cat <> config",
    "cd .git && > config < /dev/null",
    "cd .git\necho x > config",
    "if cd .git; then echo x > config; fi",
    "cd .git && touch config",
    "cd .git && cp /dev/null config",
    "cd .git && mkdir -p hooks && echo x > hooks/pre-commit",
    "cd .git && time echo x > config",
    "cd .git && [[ a ]] > config",
    "cd .git && ((1)) > config",
    "cd .git && f() { ls; } > config; f",
    "echo $(cd .git && echo x > config)",
    "cat <(cd .git && echo x > config)",
    "true && cd .git && true && echo x > config",
    "cd src && cd ../.git && echo x > config",
    "command cd .git && echo x > config",
    "builtin cd .git && echo x > config",
]


@table("command", INTO_PROTECTED)
@table("mode", ["acceptEdits", "default", "plan"])
def test_a_redirection_is_followed_to_where_its_command_runs(command: str, mode: Mode):
    """S16, S17, S33"""
    assert not isinstance(bash(command, mode=mode), Allow)


READ_BEHIND_CD = [
    "cd sub && cat < key.txt",
    "(cd sub && cat < key.txt)",
    "pushd sub && cat < key.txt",
    "cd sub; cat < key.txt",
    "cd sub && ls | cat < key.txt",
    "cd sub && while read -r l; do echo; done < key.txt",
    "cd sub && { cat; } < key.txt",
    "cd sub && cat < key.txt | wc -l",
    "cd sub && cat <<E < key.txt\nx\nE",
]


@pytest.mark.parametrize("command", READ_BEHIND_CD)
def test_a_rule_that_denies_a_file_holds_behind_a_change_of_directory(command: str):
    """S17, S32"""
    denied = rules(deny=("Read(./sub/key.txt)",))
    assert isinstance(bash(command, denied), Deny)
    assert isinstance(bash(command, denied, "bypassPermissions"), Deny)


@pytest.mark.parametrize(
    "command", ["cd sub && echo x > out", "true | cd .git && echo x > out", "(cd .git); echo x > out"]
)
def test_a_redirection_inside_is_accepted_where_edits_are(command: str):
    """S20"""
    assert isinstance(bash(command, mode="acceptEdits"), Allow)


@pytest.mark.parametrize(
    "command",
    [
        "[[a || touch pwned ]]",
        "tou\\\nch pwned",
        'echo "$\\\n(touch pwned)"',
        'cat <<E\nx\nE; cat <<"E"\n$(touch pwned)\nE',
        "$'\\x{74}ouch' pwned",
        "$'\\164ouch' pwned",
    ],
)
def test_a_denied_command_is_found_in_what_cannot_be_judged(command: str):
    """S3, S11"""
    assert isinstance(bash(command, rules(deny=("Bash(touch:*)",)), "bypassPermissions"), Deny)
