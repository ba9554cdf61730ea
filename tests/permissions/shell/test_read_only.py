"""S15: what runs unasked, and every option that keeps it from doing so."""

import pytest

from tests.permissions.shell.readings import CWD, is_free, only, read
from tests.tables import table

HARMLESS = """
ls -la --color=auto src
ls -- -x
cat -n a b
cat -
head -5 a
head --lines=5 a
tail -n +3 a
tail -f log
wc -l < a
grep -rn --include='*.py' foo .
grep -e foo -e bar a
grep foo *.py
grep -- -x a
grep -5 foo a
rg -n foo -g '*.py' src
rg foo ./*
find . -name '*.py' -type f -not -path './x/*' -print0
find . ! -name a -o -name b
find src tests -maxdepth 1
find . -name *.py
find . -newermt 2024-01-01
stat -c %s a
file --mime-type a
du -sh .
df -h /
tree -L 2 -a
tree -aL 2
xxd -l16 a
xxd -s 4 -l 16 a
pwd
echo -n anything -rf --at=all
echo "$HOME" $?
echo ~ *
printf '%s\\n' a "$HOME"
printf -- '-%s' a
true
test -f a
test a = b
[ -n "$HOME" ]
[ ! -d a ]
[ $? -eq 0 ]
[ 1 -lt 2 -a -f x ]
[[ -f a && $HOME == /h* ]]
[[ 1 -lt 2 ]]
basename a/b
realpath a
which -a ls
type -t ls
command -v ls
command -V ls
date +%s
date -d yesterday +%F
whoami
id -un
groups
hostname
hostname -s
uname -a
arch
nproc
uptime
free -m
ps aux
ps -ef
ps -p 123 -o pid,cmd
sort -k2,2n -t, -u a
sort ./*.txt
uniq -c
uniq a
cut -d: -f1 a
tr a-z A-Z
paste -sd, a
column -t a
nl a
tac a
rev a
fold -w 80 a
comm -23 a b
diff -u a b
diff <(ls a) <(ls b)
cmp a b
md5sum a
sha256sum *
cksum a
od -An -tx1 a
hexdump -C a
strings a
base64 -d a
jq -r '.a.env[] | select(.b)' a.json
jq --arg a b '.c == $a' x.json
jq -n '1'
seq 1 2 10
sleep 0.1
expr 3 '*' 4
cal 2024
locale
sed -n 5p a
sed -n '1,5p;10q' a
sed -n '/foo/,/bar/p' a
sed -n '$=' a
sed 's/a/b/g; s|c|d|' a
sed -E 's/(a)(b)/\\2\\1/' a
sed -n -e 1p -e 3p a
sed '/^#/d' a
sed -n '/a/{p;q}' a
sed '1!G;h;$!d' a
sed y/abc/xyz/ a
awk '{print $1}' a
awk -F: -v x=1 'NR >= x || $2 ~ /a/ {print $1, length($0)}' a
awk 'END {print NR}' a
awk -F, 'NR>1 {s+=$3} END {print s}' a
awk '$3 > 100 && NR < 5' a
git status
git status -sb
git log --oneline -5
git log -p --stat --since=yesterday -- src
git log --format='%h %s' main..dev
git diff HEAD~2 -- a
git diff --stat=80 --cached
git show HEAD:a
git branch -av
git branch --list 'a*'
git branch --contains HEAD
git remote -v
git stash list
git tag -l 'v*'
git blame -L 1,5 a
git ls-files -m
git rev-parse --short HEAD
git rev-list --count HEAD
git describe --tags
git shortlog -sne
git reflog
git reflog show main
git for-each-ref --format='%(refname)'
git config --get user.name
git config user.name
git config --list --show-origin
git config get user.name
git merge-base a b
git cat-file -t HEAD
git grep -n foo
git worktree list
git symbolic-ref HEAD
git --no-pager log -1
git -c color.ui=never diff
git -C . status
git version
node --version
python3 --version
python3 -V
pip check
pip show requests
pip freeze
fd -t f foo src
read -r line
IFS= read -r line
read -r a b < names
set -euo pipefail
set +e
exit 1
:
""".strip().split("\n")


@table("command", HARMLESS)
def test_it_runs_unasked(command: str):
    assert is_free(command), [(part.text, part.why) for part in read(command).parts]


DANGEROUS = """
git describe --dirty
git describe --always --dir
git describe --dirty=-x
ls --unknown
ls --rec
sort --rev a
sed --in a
ls $x
ls $(pwd)
cat "$x"
cat {a,b}
grep -R foo .
grep --dereference-recursive foo .
wc --files0-from=x
rg --pre ./x foo
rg --pre=./x foo
rg --pre-glob '*' foo
rg -z foo
rg --search-zip foo
rg --hostname-bin x foo
rg -L foo
rg foo *
fd -x rm
fd --exec rm
fd -l
find . -execdir ls {} +
find . -exec touch {} +
find . -execdir ls ;
find . -ok ls ;
find . -delete
find . -fprint x
find . -fprintf x %p
find . -fls x
find -L .
find . -follow
find . -files0-from x
find . -name *
find . -name -d*
find $x
find . $x
find * -name a
file -C -m x
file -m x a
file -f x
file -z a
du --files0-from=x
du -L .
tree -o out
tree -R
tree -l
tree --fromfile x
echo ${x:=y}
echo ${x@P}
echo ${!x}
echo ${a[0]}
echo $((x))
echo $UNKNOWN_TOKEN
printf -v PATH x
printf "$x"
printf '%n' x
printf -- '%s%n' x
printf $x
test -v 'a[$(x)]'
test -v a
[ -v a ]
[ $x ]
[ $x = y ]
[[ -v a ]]
[[ (-v a) ]]
[[ $x -eq 1 ]]
[[ a -lt 1 ]]
((x))
((x=1))
date -s tomorrow
date --set=tomorrow
date 010100002030
date -f x
hostname new
hostname -F x
hostname -f
ps e
ps auxe
sort -o out a
sort -oout a
sort -no out a
sort --output=out a
sort --outp=out a
sort --compress-program=x a
sort --compress a
sort -T /tmp a
sort --files0-from=x
sort *
uniq a b
uniq *
uniq $x
diff --to-file=x a
diff --from-file=x a
diff -l a b
diff --paginate a b
md5sum -c a
sha256sum --check a
xxd -r a
xxd a b
xxd -bc 5 a
xxd a --
xxd /dev/stdin --
xxd a -p
uniq a -c
uniq a --
uniq a --count
xxd -ac 5 a
xxd -il 5 a
xxd -ul16 5 a
xxd -cols 5 a
xxd -ps a b
tree -Io a b
tree -aPo a b
tree -LoI 2 a b
tree -Io a
tree -Lo
xxd *
strings @x
shasum -c a
hexdump -f x a
jq -f x a
jq --from-file x a
jq --slurpfile a b .
jq --rawfile a b .
jq -L x .
jq -rf x a
jq env
jq '$ENV'
jq '.a | env'
jq '"\\(env)"'
jq 'import "x" as x; .'
jq 'include "x"; .'
jq input_filename
jq "$x"
jq $x
sed -i s/a/b/ x
sed -i.bak s/a/b/ x
sed --in-place s/a/b/ x
sed -ni p x
sed -n -i p x
sed -f x a
sed 'w out' a
sed -n '1w out' a
sed 's/a/b/w out' a
sed 's/a/b/e' a
sed 's/a/b/ge' a
sed 's/a/b/m' a
sed '1e' a
sed 'e rm x' a
sed 'r x' a
sed 'R x' a
sed 'W x' a
sed '1i text' a
sed 'a text' a
sed 'F' a
sed 's/[/]/x/w/' a
sed "$x" a
sed -n "$x p" a
sed '/a/{w out' a
sed '/a/,/b/w out' a
sed '\\cacw out' a
sed 'y/a/b/w' a
sed 's/a/b/;w out' a
sed 'p # x\nw out' a
awk 'BEGIN {system("x")}'
awk '{print > "x"}' a
awk '{print >> "x"}' a
awk 'NR>1 {print > "x"}' a
awk '1 {print $1 > 5}' a
awk 'getline x < ARGV1' a
awk 'NR>1 | getline' a
awk '/a/ > 1 {print > $1}' a
awk '{print | "x"}' a
awk '{"x" | getline}' a
awk '{getline < "x"}' a
awk '{print ENVIRON["x"]}' a
awk 'BEGIN {ARGV[1] = "/etc/passwd"}' a
awk '@include "x"' a
awk -f x a
awk -i inplace 1 a
awk -l x 1 a
awk "$x" a
awk '/"/ { print | "sh" } /"/' a
git log --output=x
git log --format=%h --output=x
git log --outp=x
git diff --output x
git diff --ext-diff
git diff --textconv
git diff --no-index a b
git diff -Ox
git log --show-signature
git log --format=%G?
git log --pretty='format:%GK'
git show --textconv a
git grep -O foo
git grep -Ovi foo
git grep --open-files-in-pager=x foo
git grep -f x
git blame --contents x a
git cat-file --textconv HEAD:a
git cat-file --filters HEAD:a
git branch new
git branch -d x
git branch -D x
git branch -m x
git branch --list -D x
git branch -f x
git branch --edit-description
git branch -u x
git tag new
git tag -d x
git tag -a x
git remote add a b
git remote show origin
git remote update
git remote -v update
git stash
git stash pop
git stash drop
git config user.name x
git config --global user.name x
git config --unset a
git config -e
git config --file x --list
git config --get -f x y
git reflog expire --all
git reflog delete x
git worktree add x
git symbolic-ref HEAD refs/heads/x
git symbolic-ref -d HEAD
git -c core.pager=x log
git -c core.fsmonitor=x status
git -c alias.x='!rm' x
git --exec-path=x status
git --git-dir=x status
git --work-tree=x status
git -C other status
git -C .. status
git -p log
git --paginate log
git $x
git log $x
git diff *
git status; git checkout x
git fetch
git ls-remote
git archive HEAD
git help log
git submodule status
git difftool
git st
GIT_PAGER=x git log
GIT_DIR=x git status
cargo --version
cargo metadata
rustc --version
go version
go env
go list
yarn --version
pytest --version
make -n
make version
python3 -v
bash -v
python3 --version x
npm ls --depth=0
npm install
pip list --outdated
pip install x
docker ps
docker version
kubectl get pods
env
printenv
export -p
less a
man ls
read -a x
read PATH
read -r 'a[$(x)]'
read HOME < x
set -- a
set -a
set x
shopt -s extglob
unset x
unset 'a[$(x)]'
wait -p x
jobs -x rm
cd $x
cd -
cd -P a
cd a b
pushd
pushd +1
popd
tee out
x='a[$(rm y)]'; cat <<< $((x))
x='a[$(rm y)]'; for i in $((x)); do ls; done
x='a[$(rm y)]'; case $((x)) in 1) ls;; esac
x='a[$(rm y)]'; case 1 in $((x))) ls;; esac
x='a[$(rm y)]'; [[ $((x)) ]]
x='a[$(rm y)]'; echo ${b[x]}
x='a[$(rm y)]'; echo ${b:x}
for i in ${x:=y}; do ls; done
[[ ${x:=y} ]]
cat <<< $SECRET
xargs cat
nohup ls
noglob ls
""".strip("\n").split("\n")


@table("command", DANGEROUS)
def test_it_asks(command: str):
    assert not is_free(command)


@table(
    ("command", "reads"),
    [
        ("cat a b/c", ["a", "b/c"]),
        ("cat /etc/passwd", ["/etc/passwd"]),
        ("cat ~/x ~", ["/home/someone/x", "/home/someone"]),
        ("cat 'a b' c\\ d", ["a b", "c d"]),
        ("cat ../x", ["/srv/x"]),
        ("cat -", []),
        ("cat < /etc/passwd", ["/etc/passwd"]),
        ("cat /dev/null", []),
        ("ls", ["."]),
        ("ls src", ["src"]),
        ("ls /etc/*.conf", ["/etc"]),
        ("ls src/*/x", ["src"]),
        ("echo /etc/*", ["/etc"]),
        ("grep -r foo", ["."]),
        ("grep foo", []),
        ("grep foo a", ["a"]),
        ("grep *", ["."]),
        ("grep -3 *", ["."]),
        ("grep -C 3 src/l?nk", ["src"]),
        ("grep -n [ab]* a", [".", "a"]),
        ("egrep -2 /etc/*", ["/etc"]),
        ("grep -- *", ["."]),
        ("grep -f /etc/x a", ["a", "/etc/x"]),
        ("grep --file=/etc/x a", ["a", "/etc/x"]),
        ("rg foo", ["."]),
        ("rg foo /etc", ["/etc"]),
        ("rg -e foo /etc", ["/etc"]),
        ("find", ["."]),
        ("find /etc src -name a", ["/etc", "src"]),
        ("sed -n p /etc/x", ["/etc/x"]),
        ("awk 1 x=2 /etc/x", ["/etc/x"]),
        ("jq . /etc/x", ["/etc/x"]),
        ("git diff /etc/passwd /dev/null", [".", "/etc/passwd"]),
        ("git log -- ../x", [".", "/srv/x"]),
        ("test -f /etc/x", ["/etc/x"]),
        ("head -n 5 -- -x", ["-x"]),
        ("timeout 5 cat a", ["a"]),
    ],
)
def test_what_is_read_is_reported(command: str, reads: list[str]):
    part = only(command)

    assert part.harmless, part.why
    assert list(part.reads) == [
        CWD if path == "." else path if path[0] == "/" else f"{CWD}/{path}" for path in reads
    ]


@pytest.mark.parametrize(
    "command", ["cat a/../b", "cat /srv/project/../x", "cat .?/x", "cat */../x", "ls .*"]
)
def test_a_step_back_that_may_cross_a_link_is_not_harmless(command: str):
    assert not only(command).harmless


@pytest.mark.parametrize("text", ["$((x))", "$[x]", "${x:=y}", "${x@P}", "${a[x]}", "$SECRET", "${SECRET}"])
def test_a_here_document_that_does_more_than_show_is_not_harmless(text: str):
    assert not is_free(f"cat <<END\n{text}\nEND")
    assert is_free(f"cat <<'END'\n{text}\nEND")
    assert is_free(f"cat <<END\nliterally \\{text}\nEND")


def test_a_here_document_may_show_what_is_known():
    assert is_free("cat <<END\n$HOME costs 5$\nEND")
    assert is_free("x=1; cat <<END\n$x ${x}\nEND")


def test_patterns_are_reported_besides_their_folder():
    assert only("cat src/*.py").globs == ("/srv/project/src/*.py",)


def test_every_verdict_says_why():
    assert only("sort -o x a").why == "sort: -o isn't a known read-only option"
    assert only("ls").why == "ls only reads"
