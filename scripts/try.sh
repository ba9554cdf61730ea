#!/bin/sh
# Runs a real agent session on the offline model against a copy of a small broken project.
# Usage: try.sh <folder with the bridle program>
set -eu

bin=$(cd "$1" && pwd)
sample=$(cd "$(dirname "$0")/../examples/broken-calculator" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/bridle-try.XXXXXX")
trap 'rm -rf "$work"' EXIT

cp -R "$sample" "$work/project"
rm -rf "$work/project/__pycache__"
cd "$work/project"

# A home of its own: nothing of this trial touches yours. The venv comes first, so that `python3` is the one that works.
export CLAUDE_CONFIG_DIR="$work/home" PATH="$bin:$PATH"

echo "A small project with a failing test, copied to $work/project"
echo "The offline model is a small built-in planner, not a language model: no key, no network."
echo
echo '$ bridle -p --verbose --model offline --permission-mode acceptEdits --allowedTools "Bash(python3 -B -m unittest:*)" "fix the failing test"'
echo
bridle -p --verbose --model offline --permission-mode acceptEdits \
    --allowedTools "Bash(python3 -B -m unittest:*)" -- "fix the failing test" </dev/null

echo
echo "What changed:"
git --no-pager diff --no-index --no-color "$sample/till.py" till.py || true
echo
python3 -m unittest -q
echo "The tests pass. With a key the same loop runs on a real model: ANTHROPIC_API_KEY=… bridle -p \"…\""
