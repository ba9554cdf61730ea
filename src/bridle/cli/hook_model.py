"""The model that prompt hooks are tried with."""

from collections.abc import Mapping

from bridle.cli import choices
from bridle.cli.args import parse
from bridle.config.load import Config
from bridle.hooks.judged import AskModel
from bridle.providers import catalog
from bridle.providers.connect import provider_for
from bridle.types.block import text_block, text_of
from bridle.types.errors import ProviderError
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest, Thinking

_MAX_TOKENS = 1024


def ask_model(config: Config, env: Mapping[str, str]) -> AskModel:
    """Ask the model that the settings choose for small questions, or the one that a hook names."""

    async def ask(prompt: str, *, system: str, model: str | None) -> str:
        args = parse(())
        main = choices.choose_model(args, config, env)
        small = choices.choose_asking(args, config, env, model=main).small_model
        request = ModelRequest(
            model=small if model is None else catalog.resolve(model, env),
            system=(text_block(system),),
            history=History.of({"role": "user", "content": prompt}),
            max_tokens=_MAX_TOKENS,
            thinking=Thinking("disabled"),
            cache=False,
        )
        provider = provider_for(request.model, env, own_models=config.raw.get("bridleModels") or {})
        try:
            async for event in provider.stream(request):
                if isinstance(event, Completed):
                    return text_of(list(event.message["content"]))
        finally:
            await provider.close()
        raise ProviderError("the model gave no answer")

    return ask
