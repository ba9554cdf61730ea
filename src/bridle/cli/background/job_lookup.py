"""Finds background sessions by id, name or prompt."""

from collections.abc import Mapping

from bridle.host.jobs import records
from bridle.host.jobs.launcher import JobError
from bridle.host.paths import config_home


def all_jobs(env: Mapping[str, str]) -> list[tuple[str, records.Facts]]:
    """The folder and the facts of every job, oldest first; those whose holder died are marked as failed."""
    found = ((folder, records.settle(folder)) for folder in records.folders(config_home(env)))
    known = [(folder, facts) for folder, facts in found if facts is not None]
    return sorted(known, key=lambda job: job[1].get("startedAt", 0))


def find_job(wanted: str, env: Mapping[str, str]) -> tuple[str, records.Facts]:
    """A job by its id, the beginning of it, a part of its name, or the beginning of its conversation's id.

    Raises:
        JobError: none fits, or several do.
    """
    jobs = all_jobs(env)
    text = wanted.strip().lower()
    for fits in (_is_id, _begins_id, _is_name, _is_in_name, _begins_session, _is_in_prompt):
        hits = [job for job in jobs if text and fits(job[1], text)]
        if len(hits) == 1:
            return hits[0]
        if hits:
            some = ", ".join(f"{facts['id']} ({title_of(facts)})" for _, facts in hits[:4])
            raise JobError(f"{len(hits)} background sessions match '{wanted}': {some}. Use the id.")
    raise JobError(f"No background session matches '{wanted}'. List them with: bridle agents")


def title_of(facts: records.Facts) -> str:
    """What to call a job."""
    words = str(facts.get("name") or facts.get("prompt") or facts.get("cwd") or "").split()
    text = " ".join(words)
    return text if len(text) <= 60 else f"{text[:59]}…"


def is_live(facts: records.Facts) -> bool:
    return not records.is_ended(facts)


def _is_id(facts: records.Facts, text: str) -> bool:
    return facts["id"] == text


def _begins_id(facts: records.Facts, text: str) -> bool:
    return facts["id"].startswith(text)


def _is_name(facts: records.Facts, text: str) -> bool:
    return str(facts.get("name", "")).lower() == text


def _is_in_name(facts: records.Facts, text: str) -> bool:
    return text in str(facts.get("name", "")).lower()


def _begins_session(facts: records.Facts, text: str) -> bool:
    return str(facts.get("sessionId", "")).startswith(text)


def _is_in_prompt(facts: records.Facts, text: str) -> bool:
    return text in str(facts.get("prompt", "")).lower()
