import pytest

from bridle.host.sandbox.confinement import is_excluded


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("docker ps", "docker:*"),
        ("docker ps", "docker *"),
        ("docker", "docker:*"),
        ("docker ps", "docker"),
        ("FOO=bar timeout 5 bazel run //x", "bazel:*"),
        ("timeout 5 FOO=bar bazel run //x", "bazel:*"),
        ("cd x && docker ps", "docker *"),
        ("echo $(docker ps)", "docker *"),
        ("npm run build", "npm run *"),
        ("git push origin main", "git * main"),
    ],
)
def test_parts_of_a_command_are_recognized(command: str, pattern: str):
    assert is_excluded(command, (pattern,))


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("dockerize ps", "docker:*"),
        ("echo docker ps", "docker *"),
        ("LD_PRELOAD=x docker ps", "docker *"),
        ("PATH=. docker ps", "docker *"),
        ("npm install", "npm run *"),
        ("docker ps", ""),
        ("ls", "[a-z]s"),
    ],
)
def test_other_commands_stay_inside(command: str, pattern: str):
    assert not is_excluded(command, (pattern,))
