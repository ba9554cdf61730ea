from bridle.cli.terminal.appearance import model_name
from tests.tables import table


@table(
    "model, name",
    {
        "claude-sonnet-4-5-20250929": "Sonnet 4.5",
        "anthropic/claude-opus-5-5": "Opus 5.5",
        "claude-sonnet-4": "Sonnet 4",
        "claude-sonnet-4-5[1m]": "Sonnet 4.5",
        "claude-3-7-sonnet-20250219": "Sonnet 3.7",
        "claude-3-opus": "Opus 3",
        "ollama/qwen3:8b": "qwen3:8b",
        "gpt-6": "gpt-6",
        "offline": "offline",
    }.items(),
)
def test_models_have_the_names_that_people_know(model: str, name: str):
    assert model_name(model) == name
