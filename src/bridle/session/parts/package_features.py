"""Features from outside bridle: what goes wrong in one becomes a warning, and the session continues."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import iscoroutinefunction
from typing import Any

from bridle.engine.feature import Feature
from bridle.extensions.packages import TOOL_NAME
from bridle.features.context import FeatureContext
from bridle.session.parts.packages import defined, guarded_command
from bridle.types.errors import BridleError
from bridle.types.tool import Tool

Opener = Callable[[FeatureContext], Any]


def open_guarded(openers: Iterable[Opener], context: FeatureContext) -> list[Feature]:
    """The features that can be opened, each behind a guard."""
    opened: list[Feature] = []
    for opener in openers:
        try:
            made = opener(context)
        except Exception as error:
            # The boundary of what a package may do to a session: a defect in one becomes a sentence.
            context.warn(f"Skipped a feature of a package: {type(error).__name__}: {error}")
            continue
        if made is None:
            continue
        if not isinstance(made, Feature) or not made.name:
            context.warn("Skipped a feature of a package: it is not a Feature with a name.")
            continue
        opened.append(guarded(made, context.warn))
    return opened


def guarded(feature: Feature, warn: Callable[[str], None]) -> Feature:
    """Wrap a feature: where a method of it fails, the default counts and the user is warned once."""
    reported: set[str] = set()

    def report(moment: str, error: Exception) -> None:
        if moment not in reported:
            reported.add(moment)
            warn(f"The feature {feature.name} failed ({moment}): {type(error).__name__}: {error}")

    moments: dict[str, Any] = {"name": feature.name}
    for moment, default in vars(Feature).items():
        if not moment.startswith("_") and callable(default) and getattr(type(feature), moment) is not default:
            moments[moment] = _moment(feature, moment, default, report)
    moments["for_agent"] = _for_agent(feature, warn, report)
    if "tools" in moments:
        moments["tools"] = _converted(moments["tools"], lambda tools: _usable(tools, feature.name, warn))
    if "commands" in moments:
        moments["commands"] = _converted(moments["commands"], lambda found: map(guarded_command, found))
    return type("PackageFeature", (Feature,), moments)()


def _moment(
    feature: Feature, moment: str, default: Callable[..., Any], report: Callable[[str, Exception], None]
) -> Callable[..., Any]:
    act: Callable[..., Any] = getattr(feature, moment)
    if iscoroutinefunction(default):

        async def awaited(self: Feature, *given: Any) -> Any:
            try:
                return await act(*given)
            except BridleError:
                raise
            except Exception as error:
                report(moment, error)
                return await default(self, *given)

        return awaited

    def called(self: Feature, *given: Any) -> Any:
        try:
            return act(*given)
        except BridleError:
            raise
        except Exception as error:
            report(moment, error)
            return default(self, *given)

    return called


def _for_agent(
    feature: Feature, warn: Callable[[str], None], report: Callable[[str, Exception], None]
) -> Callable[..., Feature | None]:
    def for_agent(self: Feature, work: Any) -> Feature | None:
        try:
            made = feature.for_agent(work)
        except Exception as error:
            report("for_agent", error)
            return None
        return self if made is feature else None if made is None else guarded(made, warn)

    return for_agent


def _usable(tools: Sequence[Any], feature: str, warn: Callable[[str], None]) -> Iterator[Tool]:
    """The tools with their definitions, without those that services would refuse."""
    for tool in tools:
        try:
            if not isinstance(tool, Tool) or not TOOL_NAME.fullmatch(tool.name):
                raise ValueError(f"{getattr(tool, 'name', tool)!r} is not a tool name")
            yield defined(tool)
        except Exception as error:
            # The input of a tool is a type of the package, and may be one that has no schema.
            warn(f"Skipped a tool of the feature {feature}: {error}")


def _converted(
    act: Callable[..., Sequence[Any]], convert: Callable[[Sequence[Any]], Iterable[Any]]
) -> Callable[..., Any]:
    """Convert the result of `act` once, until the feature returns another object."""
    known: list[tuple[Sequence[Any], Sequence[Any]]] = []

    def converted(self: Feature) -> Sequence[Any]:
        given = act(self)
        if not known or known[0][0] is not given:
            known[:] = [(given, tuple(convert(given)))]
        return known[0][1]

    return converted
