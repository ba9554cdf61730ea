import subprocess
import sys

HEAVY = """
    asyncio email dataclasses difflib http.client importlib.metadata inspect json logging pathlib
    shutil subprocess tempfile threading urllib.request
    """


def test_loading_settings_imports_nothing_heavy_of_its_own():
    program = (
        "import sys, msgspec, msgspec.json\n"
        "before = set(sys.modules)\n"
        "import bridle.config.load\n"
        "from bridle.config.load import load\n"
        "load(cwd='/', env={'HOME': '/no'}, flag='{}', setting_sources=None, managed_dir='/no')\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & set(HEAVY.split()) == set()
