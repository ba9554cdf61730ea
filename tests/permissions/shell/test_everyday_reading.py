"""S15, S20: everyday commands that only read run unasked, and what stands next to them asks."""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bridle.types.permission import Allow, Mode
from tests.permissions.cases import bash, rules
from tests.tables import table

CORPUS = Path(__file__).parent.parent / "corpus" / "reading.txt"


def everyday(kind: str) -> list[tuple[str, str]]:
    """The commands of a kind, each with what stands behind it."""
    lines = CORPUS.read_text(encoding="utf-8").splitlines()
    rows = [line.partition("  ")[2].replace("⏎", "\n") for line in lines if line.startswith(f"{kind}  ")]
    return [(command, behind) for command, _, behind in (row.partition(" ## ") for row in rows)]


@table("command, _", everyday("free"))
def test_an_everyday_command_that_reads_is_free(command: str, _: str):
    decision = bash(command)
    assert isinstance(decision, Allow), decision


ORDINARY = rules(
    deny=(
        "Read(./.env)",
        "Read(./.env.*)",
        "Read(./secrets/**)",
        "Bash(rm:*)",
        "Bash(wget:*)",
        "Bash(sudo:*)",
    ),
    ask=("Bash(git push:*)", "Bash(npm publish:*)"),
    allow=("Bash(npm run test:*)", "Bash(git commit:*)", "Edit(src/**)"),
)


@table("command, _", everyday("free"))
def test_rules_about_something_else_make_no_question(command: str, _: str):
    decision = bash(command, ORDINARY)
    assert isinstance(decision, Allow), decision


@table("command, reason", everyday("asks"))
def test_one_that_still_asks_is_named_with_its_reason(command: str, reason: str):
    assert reason and not isinstance(bash(command), Allow)


@table("command, reason", everyday("must"))
@table("mode", ["default", "plan", "dontAsk"])
def test_one_that_does_more_than_read_here_asks(command: str, reason: str, mode: Mode):
    assert reason and not isinstance(bash(command, mode=mode), Allow)


@table("command, rule", everyday("rule"))
def test_one_that_talks_to_a_service_needs_its_rule(command: str, rule: str):
    assert not isinstance(bash(command), Allow)
    assert isinstance(bash(command, rules(allow=(rule,))), Allow)


def test_at_most_one_percent_ask():
    free, asking = everyday("free"), everyday("asks")
    assert len(free) >= 1_100
    assert len(asking) <= 0.01 * (len(free) + len(asking))


NEIGHBOURS = r"""
tar --to-command=sh -tf x
tar -tf x.tar --to-command=sh
tar -tf x.tar --checkpoint-action=exec=sh
tar -tf x.tar --checkpoint=1
tar -I sh -tf x
tar -tf x --use-compress-program=sh
tar tfI x sh
tar xf x.tar
tar -xf x.tar
tar -ft x.tar
tar cf x.tar a
tar -cf x.tar -t
tar -tf host:x.tar
tar tf host:x.tar
tar -tf x --rsh-command=sh
tar -tf x -f y
tar -t
tar -tf x -T list
tar -tf *.tar
tar -tf x -C /etc
tar -tf /etc/x.tar
tar -tvf x.tar --index-file=y
tar -F sh -tf x
tar tFf sh x
tar -tf x.tar --delete a
gzip x
gzip x.gz
gzip -d x.gz
gzip -d x.gz -c
gzip -- -c x.gz
gzip -k x
gzip -dk x.gz
gzip -rc x
gzip -td x.gz
gunzip x.gz
gunzip -k x.gz
gunzip -t x.gz
gunzip -c x
zcat x
zcat /etc/x.gz
zcat -S .x x.gz
bzip2 x
bunzip2 x.bz2
bzip2 -td x
xz x
xz -l -z x
xz -tz x
xz -td x
xz --files=list -dc
unxz x.xz
xz -dc --suffix=.x x
unzip x.zip
unzip -o x.zip
unzip -q x.zip
unzip -qq x.zip
unzip -l x.zip -d y
unzip -o -l x.zip
unzip -lo x.zip
unzip -l -d y x.zip
unzip -l '*.zip'
unzip -l *.zip
unzip -p x.zip -x a
zipinfo -M x.zip
zipinfo /etc/x.zip
zgrep -f list x.gz
zgrep -r a x.gz
zgrep a x
zgrep --regexp=a x.gz
zgrep 'a⏎b' x.gz
zgrep a *.gz
find . -exec rm {} \;
find . -exec rm {} +
find . -exec sh -c 'cat {}' \;
find . -exec cat {} \; -delete
find . -exec cat {} \; -exec rm {} \;
find . -exec cat {} + -fprint x
find . -execdir cat {} \;
find . -ok cat {} \;
find . -exec sed -i s/a/b/ {} \;
find . -exec sed -n {} \;
find . -exec sort -o x {} \;
find . -exec sort {} \;
find . -exec tee {} \;
find . -exec {} \;
find . -exec ./cat {} \;
find . -exec cat /etc/{} \;
find . -exec cat /etc/passwd {} \;
find . -exec cat {}
find . -exec cat {} + x \;
find . -exec cat $x {} \;
find . -exec xargs cat {} \;
find . -exec find {} -delete \;
find $x -exec cat {} \;
find /etc -exec cat {} \;
find -L . -exec cat {} \;
find . -name -exec -exec rm {} \;
find . -exec git -C {} status \;
find . -exec env cat {} \;
find . -exec awk 1 {} \;
find . -exec jq . {} \; | xargs cat
find . -exec head -1 {} \; | xargs cat
find . -exec jq -n {} \;
ls | xargs sh -c
ls | xargs rm
ls -a | xargs cat
ls -l | xargs cat
ls .. | xargs cat
ls /etc | xargs cat
ls | xargs sort
ls | xargs -I{} cat /etc/{}
git diff --name-only HEAD~1 | xargs cat
git diff --name-only --cached | xargs cat
git diff | xargs cat
git diff --name-status | xargs cat
git diff --name-only | xargs rm
git diff --name-only | xargs sh -c 'cat $0'
git diff --name-only --no-index a b | xargs cat
git diff --name-only --output=x | xargs cat
file -C
file -C *
file -f *
file -m x *
file -*
sort -o x *
sort -*
sort *.txt -o x
sort --compress-program=sh *
rg --pre sh foo *
sort * > x
ss -K
"""


@table("mode", ["default", "plan", "dontAsk"])
@table("command", NEIGHBOURS.strip().splitlines())
def test_what_stands_next_to_them_asks(command: str, mode: Mode):
    decision = bash(command.replace("⏎", "\n"), mode=mode)
    assert not isinstance(decision, Allow), decision


PATTERNS = [
    "file *", "sort *", "sort *e", "strings *", "hexdump -C *", "sed -n 1p *", "awk 1 *", "rg foo *",
    "jq . *", "shasum *", "file [!a]*", "file ?o", 'for f in *; do file "$f"; done', "cd . && sort *",
    "zcat *.gz",
]  # fmt: skip


@table("command", PATTERNS)
def test_a_pattern_is_free_without_dashes(command: str):
    assert isinstance(bash(command), Allow)


def test_a_name_with_an_at_sign_holds_options_of_strings(tmp_path: Path):
    assert isinstance(bash("strings *", cwd=str(tmp_path)), Allow)
    (tmp_path / "@options").write_text("/etc/passwd")
    assert not isinstance(bash("strings *", cwd=str(tmp_path)), Allow)
    assert isinstance(bash("file *", cwd=str(tmp_path)), Allow)


@pytest.mark.parametrize("name", ["-C", "-o", "--pre=sh", "-x.gz", "-none"])
def test_a_pattern_that_matches_a_name_with_a_dash_asks(tmp_path: Path, name: str):
    (tmp_path / "one").write_text("")
    assert isinstance(bash("file *", cwd=str(tmp_path)), Allow)
    (tmp_path / name).write_text("")
    assert isinstance(bash("file ./*; sort one*", cwd=str(tmp_path)), Allow)
    for command in PATTERNS:
        if any(_matches(tmp_path, command)):
            assert not isinstance(bash(command, cwd=str(tmp_path)), Allow), command


def _matches(folder: Path, command: str) -> list[str]:
    """The names with a dash that bash puts in the place of the last pattern of a command."""
    pattern = next(word.rstrip(";") for word in command.split() if any(mark in word for mark in "*?["))
    shown = subprocess.run(
        ("bash", "-c", f"printf '%s\\n' {pattern}"), cwd=folder, capture_output=True, text=True, check=True
    )
    return [name for name in shown.stdout.splitlines() if name.startswith("-")]


@table(
    "command", ["touch ./-C && file *", "echo x > ./-C; file *", "cp a ./-o && sort *", "mkdir ./-x; sort *"]
)
@table("mode", ["default", "acceptEdits"])
def test_a_command_that_makes_names_has_no_free_pattern_behind_it(command: str, mode: Mode):
    assert not isinstance(bash(command, mode=mode), Allow)


@table("command", ["make && sort *", "git checkout x && file *", "sort * | make"])
def test_one_that_a_rule_allows_may_make_names_as_well(command: str):
    allowed = rules(allow=("Bash(make:*)", "Bash(make)", "Bash(git checkout:*)"))
    assert not isinstance(bash(command, allowed), Allow)


@pytest.mark.parametrize(
    "command",
    [
        "find . -exec cat {} \\;",
        "find . -name link -exec head -5 {} +",
        "find deep -exec grep x {} \\;",
        "for d in deep other; do find $d -exec cat {} \\; ; done",
        "for d in other deep; do find $d -exec cat {} \\; ; done",
        "ls | xargs cat",
        "ls deep/* | xargs cat",
    ],
)
def test_a_link_among_the_files_is_seen(tmp_path: Path, command: str):
    project = tmp_path / "project"
    (project / "deep").mkdir(parents=True)
    (project / "deep" / "a").write_text("x")
    (tmp_path / "secret").write_text("x")
    assert isinstance(bash(command, cwd=str(project)), Allow)
    os.symlink(tmp_path / "secret", project / "deep" / "link")
    assert not isinstance(bash(command, cwd=str(project)), Allow)


@pytest.mark.parametrize(
    ("command", "name"),
    [("unzip -l x", "x.zip"), ("unzip -p x.jar", "x.jar.ZIP"), ("zipinfo x", "x.zip"), ("zcat x.gz", "x.gz")],
)
def test_the_file_that_is_really_read_is_seen(tmp_path: Path, command: str, name: str):
    project = tmp_path / "project"
    project.mkdir()
    assert isinstance(bash(command, cwd=str(project)), Allow)
    os.symlink(tmp_path / "secret", project / name)
    assert not isinstance(bash(command, cwd=str(project)), Allow)


@table("denied", ["Bash(cat:*)", "Bash(cat *)"])
def test_a_denied_program_stays_denied_behind_find(denied: str):

    assert not isinstance(bash("find . -exec cat {} \\;", rules(deny=(denied,))), Allow)


SEARCHES = [
    "grep -rn foo .", "rg foo", "rg foo src", "diff -r src other",
    "find . -name '*.py' | xargs wc -l", "ls | xargs cat", "find . -exec cat {} +", "cd src && grep -r foo .",
    "grep -r foo src/deep", "rg --files", "git grep --untracked foo",
]  # fmt: skip


@pytest.mark.parametrize(
    "rule", ["Read(./.env)", "Read(**/.env)", "Read(/src/deep/*.env)", "Read(//**/.env)"]
)
def test_a_search_asks_where_a_rule_keeps_a_file_back_and_nowhere_else(tmp_path: Path, rule: str):
    denied = rules(deny=(rule,))
    for folder in ("src/deep", "other", "docs"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.txt").write_text("foo\n")
    for command in SEARCHES:
        assert isinstance(bash(command, denied, cwd=str(tmp_path)), Allow), command
    (tmp_path / "src" / "deep" / ".env").write_text("x")
    for command in SEARCHES:
        assert not isinstance(bash(command, denied, cwd=str(tmp_path)), Allow), command
    for command in ("grep -rn foo other", "rg foo docs", "diff -r other docs", "cd other && grep -r foo ."):
        assert isinstance(bash(command, denied, cwd=str(tmp_path)), Allow), command
    (tmp_path / "src" / "deep").rename(tmp_path / "moved")
    (tmp_path / "moved" / ".env").unlink()
    for command in SEARCHES:
        assert isinstance(bash(command, denied, cwd=str(tmp_path)), Allow), command


def test_a_link_with_a_name_that_a_rule_keeps_back_counts(tmp_path: Path):
    denied = rules(deny=("Read(./.env)",))
    (tmp_path / "src").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "local").write_text("x")
    assert isinstance(bash("grep -r x config", denied, cwd=str(tmp_path)), Allow)
    (tmp_path / "src" / ".env").symlink_to("../config/local")
    for command in ("grep -r x config", "cat src/.env"):
        assert not isinstance(bash(command, denied, cwd=str(tmp_path)), Allow), command


def test_a_search_that_prints_a_file_asks_in_every_mode_and_whatever_allows_it(tmp_path: Path):
    denied = rules(deny=("Read(./.env)",))
    (tmp_path / "src").mkdir()
    (tmp_path / ".env").write_text("x")
    for command in ("grep -r x .", "grep -R x .", "rg x", "cd src && grep -r x ..", "timeout 5 grep -rn x"):
        assert not isinstance(bash(command, denied, "bypassPermissions", cwd=str(tmp_path)), Allow), command
        allowed = (*denied, *rules(allow=("Bash",)))
        assert not isinstance(bash(command, allowed, cwd=str(tmp_path)), Allow), command
    for command in (
        "grep -rn --include='*.py' x .",
        "grep -rn --include='*.md' --include=*.py x",
        "grep -r x src",
    ):
        assert isinstance(bash(command, denied, cwd=str(tmp_path)), Allow), command
    for command in ("grep -rn --include='*.env' x .", "grep -rn --include=.* x", "rg --include='*.py' x"):
        assert not isinstance(bash(command, denied, cwd=str(tmp_path)), Allow), command


FILLED = r"""
cat "$PWD/.env"
cat "${PWD}"/.env
head -c5 "${PWD}/src/../.env"
cat .{env,x}
cat {a,.env}
cat $(echo .env)
cat "$(printf .env)"
x=$(echo .env); cat $x
cat ~+/.env
cat "$(pwd)/.env"
sed -n "r .env" a.txt
awk 'BEGIN { while ((getline l < ".env") > 0) print l }'
date -f .env
curl file://$PWD/.env
python3 -c 'print(open(".env").read())'
node -e 'console.log(require("fs").readFileSync(".env", "utf8"))'
perl -ne print "$PWD"/.env
cat /proc/self/cwd/.env
cat /proc/$$/cwd/.env
sort /proc/self/task/1/cwd/.env
cp "$PWD"/.env /tmp/x
"""


@table("command", FILLED.strip().splitlines())
def test_a_file_that_a_rule_denies_is_denied_however_it_is_named(command: str):
    denied = rules(deny=("Read(./.env)",))
    assert not isinstance(bash(command, denied), Allow)
    assert not isinstance(bash(command, denied, "bypassPermissions"), Allow)
    assert not isinstance(bash(command, (*denied, *rules(allow=("Bash",)))), Allow)


@table(
    "command",
    [
        'for f in *; do sort "$f"@; done', "for f in *; do sort $f.x; done",
        'for f in *; do file ${f}*; done',
        'for f in *; do sort "$f"/a; done', 'for f in *; do cd src; sort "$f"; done',
        'for f in *; do (cd src && sort "$f"); done', "for f in ?o *; do pushd src; file $f; done",
    ],
)  # fmt: skip
def test_a_pattern_in_a_variable_is_free_for_the_names_it_stands_for_alone(command: str):
    assert not isinstance(bash(command), Allow)


LISTED = [
    "wc -l $(git ls-files)", 'cat "$(ls -t | head -1)"', "cat `ls`x; cat $(ls)",
    "grep -n x $(find . -name '*.py')", 'for f in $(find .); do head -1 "$f"; done',
    'find . -type f | while read -r f; do wc -l < "$f"; done', "last=$(ls -t | head -1); cat $last",
    'find . | while IFS= read -r f; do sort "$f"; done',
]  # fmt: skip


@pytest.mark.parametrize("command", [*LISTED[:2], *LISTED[3:7]])
def test_names_that_a_substitution_lists_are_read(tmp_path: Path, command: str):
    project = tmp_path / "project"
    (project / "deep").mkdir(parents=True)
    (project / "deep" / "a.py").write_text("x")
    (tmp_path / "secret").write_text("x")
    assert isinstance(bash(command, cwd=str(project)), Allow)
    denied = rules(deny=("Read(./deep/a.py)",))
    assert not isinstance(bash(command, denied, cwd=str(project)), Allow)


@table("name", ["-x", "deep/-o", "a b", "deep/x\ny", "a'b", "a\\b", ".*", "deep/.?", ".[.]", "link"])
@table("command", LISTED)
def test_odd_names_and_links_among_those_that_are_listed_ask(command: str, name: str):
    with TemporaryDirectory() as folder:
        project = Path(folder, "project")
        (project / "deep").mkdir(parents=True)
        (project / "deep" / "a.py").write_text("x")
        if name == "link":
            (project / "link").symlink_to("../secret")
        else:
            (project / name).write_text("x")
        assert not isinstance(bash(command, cwd=str(project)), Allow)


NOT_LISTED = r"""
cat $(echo -n)
cat $(ls ..)
cat $(ls /etc)
cat $(ls; echo /etc/passwd)
cat $(ls || echo /etc/passwd)
cat $(ls && echo /etc/passwd)
cat $(ls & echo /etc/passwd)
cat $(ls | sed s/a/b/)
cat $(ls | xargs echo)
cat $(ls -l)
cat $(cat list)
cat $(< list)
cat $(git diff --name-only HEAD~1)
cat $(ls)/x
cat x$(ls)
cat ../$(ls)
cat "$(ls)"/../x
rm $(ls)
tee $(ls)
sort -o $(ls)
sed -n $(ls)
awk $(ls)
jq $(ls)
xargs $(ls)
$(ls)
$(ls) x
cd $(ls)
source $(ls)
git diff $(ls)
git show $(ls)
sort $(ls)
cat $(cd src; ls)
cat $(cd src && ls)
cd src; cat $(ls ..)
IFS=a; cat $(ls)
IFS=/ cat $(ls)
ls() { echo /etc/passwd; }; cat $(ls)
touch ./-x && cat $(ls)
for f in $(ls); do cd src; cat "$f"; done
for f in $(ls); do cat ../"$f"; done
for f in $(ls); do cat /etc/$f; done
for f in $(ls); do sort "$f"; done
for f in $(ls); do rm "$f"; done
for f in $(ls); do $f; done
for f in $(ls); do eval $f; done
for f in $(ls); do git show $f; done
for f in $(ls); do f=/etc/passwd; cat $f; done
for f in $(ls) /etc/passwd; do cat $f; done
ls | while read -r f; do cat ../$f; done
ls | while read -r f; do cat $f/../x; done
ls | while read -r f; do cd src; cat "$f"; done
ls | while read -r f g; do cat "$g"; done
ls | while IFS=a read -r f; do cat "$f"; done
ls | while read -rd a f; do cat "$f"; done
ls | while read -r f; do read -r g; cat "$g"; done
ls | while read -r f < list; do cat "$f"; done
ls | while read -r f; do cat "$f"; done; cat $f/x
echo /etc/passwd | while read -r f; do cat "$f"; done
cat list | while read -r f; do cat "$f"; done
{ ls; echo /etc/passwd; } | while read -r f; do cat "$f"; done
ls | (while read -r f; do cat "$f"; done; while read -r f; do cat ../$f; done)
f=$(ls); cat ../$f
f=$(ls | head -1); git diff $f
f=$(ls); f+=/../x; cat $f
git show $(git describe)
git show $(git branch)
git log $(echo --output=x)
git log $(git rev-parse HEAD --output=x)
git log $(git rev-list -1 --all)
for c in $(git log --format=%s); do git show $c; done
for c in $(git log --format=%h --output=x); do git show $c; done
for c in $(git log --format=%h; echo --output=x); do git show $c; done
ls "$(dirname ../../x)"
cat "$(dirname /etc/x)"/passwd
cat $(basename -s .x /etc/passwd)
sort $(basename -o)
PAGER=less git log
GIT_PAGER='cat x' git log
GIT_PAGER="cat;sh" git log
PAGER=./cat git log
export GIT_PAGER=cat\ x; git log
git apply x.patch
git apply --stat --apply x.patch
git apply --check --index x.patch
git apply --stat --cached x.patch
git apply --check -3 x.patch
git fsck --lost-found
git bisect start
git bisect run make
git bisect log x
echo "${x/$(id)/y}"
echo "${x/a/$(id)}"
echo "${x@P}"
nm --plugin x.so y
nm @x
nm -l x
readelf --debug-dump=follow-links x
readelf -w x
dpkg -i x.deb
dpkg -r x
dpkg --configure -a
dpkg -lr x
dpkg --root=x -l
top -S
pidof -o x y
findmnt --poll
findmnt -T x -s
vmstat -p x
printenv
printenv PATH ANTHROPIC_API_KEY
"""


@table("command", NOT_LISTED.strip().splitlines())
@table("mode", ["default", "plan"])
def test_what_stands_next_to_a_listing_asks(command: str, mode: Mode):
    assert not isinstance(bash(command, mode=mode), Allow)
