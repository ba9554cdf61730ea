import pytest

from bridle.engine.calls.failed_commands import is_answer
from tests.tables import table

_ANSWERS = """
grep x f
which ruff
test -f x
[[ -f x ]]
! grep x f
diff a b > patch
git diff --exit-code
cd sub && pytest -q 2>&1 | tail -5
timeout 60 env A=1 uv run pytest
(cd x && python3 -m pytest)
time npm test
for i in 1 2; do go test ./...; done
rm x; pytest
make -C sub test # all
npx jest
bash -c 'pytest -x'
./gradlew test
cargo +nightly test --workspace
npm --prefix web run test:unit
pytest | tee log
pytest > log 2>&1
source .venv/bin/activate && pytest
docker compose exec web pytest
bundle exec rspec
./run_tests.sh
npm run lint
ruff check . && mypy src
kill -0 1
"""
_FAILURES = """
mkdir a
make
make install
npm install && npm test
rm x && pytest
set -e; rm x; pytest
npm run build
npm install test
npm in test
npm i test
git commit -m test
git checkout test
cp a test
rm test.sh
pip install pytest
python -c 'import pytest'
pytest; rm x
cat missing > copy
echo "unclosed
"""


@table("command", _ANSWERS.strip().splitlines())
def test_what_only_looks_answers_with_its_exit_code(command: str):
    assert is_answer(command, 1)


@table("command", _FAILURES.strip().splitlines())
def test_what_was_to_change_something_and_did_not_is_a_failure(command: str):
    assert not is_answer(command, 1)


@pytest.mark.parametrize("code", [None, 126, 127, 137])
def test_a_test_run_that_never_ran_or_was_killed_is_a_failure(code: int | None):
    assert not is_answer("pytest", code)
