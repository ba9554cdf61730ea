"""Keeps constraints that the user sets, word for word, through every compaction."""

from bridle.context.ledger import constraints_in, to_note
from bridle.transcripts.conversation import is_prompt
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.ledger import Ledger


def find_constraints(session: Session) -> Ledger:
    """The ledger with the constraints in the prompts; copies of earlier ones were looked at before."""
    ledger = session.state.ledger
    for entry in session.entries:
        if entry["type"] == "user" and "copyOf" not in entry and is_prompt(entry):
            for sentence in constraints_in(text_of(entry["message"]["content"])):
                ledger = ledger.plus(sentence, origin="found")
    return ledger if ledger is session.state.ledger else keep_ledger(session, ledger)


def pin(session: Session, text: str) -> Ledger:
    """Keep words of the user through every compaction."""
    return keep_ledger(session, session.state.ledger.plus(text.strip()))


def unpin(session: Session, pin_id: str) -> bool:
    """Remove a pin; False when there is none with this id."""
    if session.state.ledger.find(pin_id) is None:
        return False
    keep_ledger(session, session.state.ledger.less(pin_id))
    return True


def keep_ledger(session: Session, ledger: Ledger) -> Ledger:
    """Use another ledger from now on, also after a resume."""
    session.swap(ledger=ledger)
    session.note(to_note(ledger, session.id))
    return ledger
