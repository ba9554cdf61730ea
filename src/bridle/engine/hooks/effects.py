"""Effects that every hook can ask for: lines for the user, variables, a title, files to watch."""

from collections.abc import Callable, Iterable

from bridle.engine.texts import CLASSIFIER_CONTEXT
from bridle.hooks.environment_exports import Exports
from bridle.hooks.file_watch import FileWatch, named_by
from bridle.hooks.messages import delays, refusals
from bridle.hooks.table import Listeners
from bridle.transcripts.session import Session
from bridle.types.channel import Channel
from bridle.types.event import Noticed, SessionRenamed, Signalled
from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import HookOutcome
from bridle.types.workspace import Workspace


class HookEffects:
    """Carries out what hooks ask for beside the event itself; what decides the event is the caller's."""

    def __init__(
        self,
        session: Session,
        *,
        channel: Channel,
        workspace: Workspace,
        listeners: Listeners,
        exports: Exports,
        watch: FileWatch,
        reload_skills: Callable[[], None],
    ) -> None:
        self._session = session
        self._channel = channel
        self._workspace = workspace
        self._listeners = listeners
        self._exports = exports
        self._watch = watch
        self._reload_skills = reload_skills
        self._wanted: tuple[str, ...] = ()
        """Files that hooks asked to watch, besides those that matchers name."""
        self._words: tuple[str, ...] = ()
        """For the model, with the next step."""

    def take_in(self, event: HookEvent, said: HookOutcome) -> None:
        self._tell(event, said)
        if event.name == "CwdChanged":
            self._exports.leave()
        if said.exported:
            self._keep_variables(event.name, said.exported)
        if said.classifier_context is not None:
            self._session.say_system(CLASSIFIER_CONTEXT, content=said.classifier_context)
        if event.name == "PostModelSwitch":
            self._words += said.context
        if said.session_title is not None:
            self.name_session(said.session_title)
        if said.watch_paths:
            self._wanted = tuple(map(self._workspace.resolve, said.watch_paths))
        if said.watch_paths or event.name == "CwdChanged":
            self.watch_files()
        if said.reload_skills:
            self._reload_skills()

    def collect(self) -> tuple[str, ...]:
        """Words for the model that could not be said when they came."""
        words, self._words = self._words, ()
        return words

    def watch_files(self) -> None:
        """Watch what hooks name by now; nothing where no hook wants to know of changes."""
        entries = self._listeners.of("FileChanged")
        named = named_by(entries, self._workspace.cwd) if entries else []
        self._watch.watch((*named, *self._wanted) if entries else ())

    def name_session(self, title: str) -> None:
        self._session.note({"type": "custom-title", "customTitle": title, "sessionId": self._session.id})
        self._channel.emit(SessionRenamed(title))

    def warn(self, text: str) -> None:
        self._channel.emit(Noticed(text, "warning"))

    def _tell(self, event: HookEvent, said: HookOutcome) -> None:
        for line in refusals(event, said):
            self._channel.emit(Noticed(line, "warning", prevents=_prevents(event, said)))
            self._session.say_system("informational", content=line, fields={"level": "warning"})
        for text in (*said.system_messages, *delays(said)):
            self._channel.emit(Noticed(text))
        for text in _once(said.problems):
            self.warn(text)
        for sequence in said.terminal_sequences:
            self._channel.emit(Signalled(sequence))

    def _keep_variables(self, event: str, text: str) -> None:
        try:
            self._exports.take(event, text)
        except OSError as error:
            self.warn(f"Could not save the variables of a {event} hook: {error.strerror or error}.")


def _prevents(event: HookEvent, said: HookOutcome) -> bool:
    """Whether the turn ends or does not begin."""
    return said.stop is not None or (said.block is not None and event.name == "UserPromptSubmit")


def _once(texts: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(texts)
