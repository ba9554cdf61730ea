"""One folder for each capability of a session; `registry.py` lists them, and the engine names none."""
