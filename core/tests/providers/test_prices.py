from __future__ import annotations

from typing import Any

import pytest

from pegboard.contracts.spending import Spending
from pegboard.providers.model_settings import ModelTable
from pegboard.providers.prices import Prices

PROVIDERS = {
    "fast": {"type": "openai-compatible", "server": "groq"},
    "home": {"type": "openai-compatible", "server": "ollama"},
    "there": {"type": "openai-compatible", "base_url": "https://api.groq.com/openai/v1"},
    "near": {"type": "openai-compatible", "base_url": "http://127.0.0.1:9/v1"},
    "mine": {"type": "provider-local:local"},
}
MODELS = {
    "m": {"price": {"input": 1.0, "output": 2.0}},
    "x/m": {"price": {"input": 10.0, "output": 20.0, "cached": 1.0}},
    "y/m": {"context": 5},
}


@pytest.fixture
def prices() -> Prices:
    return Prices.from_settings(MODELS, PROVIDERS)


@pytest.mark.parametrize(
    ("provider", "model", "cost"),
    [
        ("any", "m", 0.0012),
        ("x", "m", 0.0075),
        ("y", "m", 0.0012),
        ("mine", "whatever", 0.0),
        ("offline", "", 0.0),
        ("any", "nobody-knows", None),
        ("home", "gpt-4o", 0.0),
        ("near", "gpt-4o", None),
    ],
)
def test_what_the_operator_says_counts_and_nothing_is_guessed(
    prices: Prices, provider: str, model: str, cost: float | None
) -> None:
    found = prices.cost(provider, model, input=1_000, output=100, cached=500)
    assert found == (cost if cost is None else pytest.approx(cost))


@pytest.mark.parametrize(
    ("server", "url", "model", "free"),
    [
        ("llamacpp", "", "", True),
        ("lmstudio", "", "qwen3-8b", True),
        ("vllm", "http://127.0.0.2:8000/v1", "m2", True),
        ("vllm", "http://[::1]:8000/v1", "m2", True),
        ("vllm", "http://LOCALHOST:8000/v1", "m2", True),
        ("vllm", "https://gpu.example.org/v1", "m2", False),
        ("vllm", "http://192.168.1.5:8000/v1", "m2", False),
        ("vllm", "http://127.0.0.1.example.org/v1", "m2", False),
        ("vllm", "http://[nonsense", "m2", False),
        ("ollama", "", "qwen3:8b", True),
        ("ollama", "", "gpt-oss:120b-cloud", False),
        ("ollama", "", "GLM-4.6:Cloud", False),
        ("ollama", "", "", False),  # the server chooses, and may choose one that it relays
        ("other", "http://127.0.0.1:9/v1", "m2", False),
        ("openrouter", "http://127.0.0.1:9/v1", "m2", False),
    ],
)
def test_a_model_on_a_server_of_ones_own_has_no_bill_unless_the_server_relays(
    server: str, url: str, model: str, free: bool
) -> None:
    said = {"type": "openai-compatible", "server": server, "base_url": url}
    prices = Prices.from_settings(MODELS, {"x": said})
    assert prices.cost("x", model, input=10, output=10) == (0.0 if free else None)
    assert prices.price("x", model)[1] == ("free" if free else "unknown")
    assert prices.is_unknown("x", model) is not free
    assert prices.may_be_free("x") is (server == "other")


def test_a_vendors_price_comes_from_its_list_with_the_cache_in_it(prices: Prices) -> None:
    pytest.importorskip("genai_prices", reason="pip install 'pegboard[cost]'")
    for provider, model in (
        ("openai", "gpt-4o"),
        ("anthropic", "claude-opus-4-5"),
        ("gemini", "gemini-2.5-flash"),
        ("fast", "openai/gpt-oss-120b"),
        ("there", "openai/gpt-oss-120b"),
    ):
        whole = prices.cost(provider, model, input=1_000, output=100)
        cached = prices.cost(provider, model, input=1_000, output=100, cached=900)
        price, who = prices.price(provider, model)
        assert whole is not None and cached is not None and price is not None
        assert 0 < cached < whole
        assert who == "genai-prices"
        assert whole == pytest.approx(price.cost(1_000, 100, 0))
    assert prices.cost("openai", "no-such-model", input=1, output=1) is None
    assert prices.price("openai", "no-such-model") == (None, "unknown")


@pytest.mark.parametrize(
    ("provider", "model", "asked", "unknown"),
    [
        ("any", "m", "m", False),
        ("mine", "whatever", "whatever", False),
        ("any", "odd", "odd", True),
        ("named", "", "odd", True),
        ("named", "m", "m", False),
        ("any", "", "", True),
    ],
)
def test_the_price_that_counts_is_that_of_the_model_which_is_asked(
    provider: str, model: str, asked: str, unknown: bool
) -> None:
    prices = Prices.from_settings(MODELS, {**PROVIDERS, "named": {"model": "odd"}})
    assert prices.asked(provider, model) == asked
    assert prices.is_unknown(provider, asked) is unknown


def test_what_was_recorded_stays_and_what_was_not_known_then_may_be_now(prices: Prices) -> None:
    facts: dict[str, Any] = {"at": 0.0, "provider": "any", "input": 1_000, "output": 0}
    assert prices.known(Spending(**facts, model="m", cost=7.0)) == 7.0
    assert prices.known(Spending(**facts, model="m")) == pytest.approx(0.001)
    assert prices.known(Spending(**facts, model="z")) is None


def test_an_entry_for_a_provider_counts_before_one_for_the_model() -> None:
    table = ModelTable({**MODELS, "broken": 5})
    assert table.names() == ["m", "x/m", "y/m"]
    assert table.price("x", "m")[1] == "x/m"
    assert table.price("y", "m")[1] == table.price("z", "m")[1] == "m"
    assert table.find("y", "m", "context") == (5, "y/m")
    assert table.find("z", "n", "context") == (None, "")
