"""One prompt whose command a hook must refuse; `argv` is the hook, unless a program has installed its own."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

_PRINTED = ("--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")

if sys.argv[1:]:
    hook = {"type": "command", "command": shlex.join(sys.argv[1:])}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    place = Path.home() / ".claude" / "settings.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(settings))
done = subprocess.run(["claude", "-p", "go #reset", *_PRINTED], capture_output=True, text=True, check=False)
print(done.stdout)
