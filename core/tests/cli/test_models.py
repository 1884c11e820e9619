"""`pegboard models` and `pegboard usage`."""

from __future__ import annotations

import struct
import time
import tomllib

import anyio
import pytest

from pegboard.cli.models import price_text
from pegboard.cli.models_add import MODELS, Packaged
from pegboard.cli.models_facts import ModelFacts
from pegboard.cli.usage import since_time
from pegboard.cli.usage_sums import sums, total
from pegboard.contracts.errors import UsageError
from pegboard.contracts.spending import Spending
from pegboard.providers import ModelFileError, ModelFiles
from pegboard.providers.model_settings import Price
from pegboard.store.embedded import open_store
from pegboard.testing.dists import built

WHOLE = (
    struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + struct.pack("<Q1sIQIQ", 1, b"t", 1, 8, 0, 0)
).ljust(256, b"\0")
PROVIDER = """
from dataclasses import replace

from pegboard import ModelCaps, ModelInfo, Plugin, ProviderError, ProviderInfo

plugin = Plugin(summary="Models.")


class Acme:
    info = ProviderInfo(id="acme", dialect="acme", title="Acme")
    fails = False

    def capabilities(self, model):
        return ModelCaps(context=1_000, max_output=100)

    async def models(self):
        if self.fails:
            raise ProviderError("It is closed.", kind="server", fix="come again")
        caps = ModelCaps(context=64_000, max_output=4_096, images=True)
        told = frozenset({"context"})
        mini = replace(caps, context=400_000, max_output=128_000)
        return [
            ModelInfo(id="big", title="Big", caps=caps),
            ModelInfo(id="gpt-5-mini", caps=mini, told=told),
        ]

    async def stream(self, request):
        yield None

    async def aclose(self):
        pass


@plugin.provider("acme")
def acme(context, settings):
    return Acme()


@plugin.provider("closed")
def closed(context, settings):
    made = Acme()
    made.fails = True
    return made
"""


@pytest.fixture
def acme(here):
    """An environment with a provider of two models."""
    built(here.plugin("acme", code=PROVIDER, manifest=None))
    return here


def test_models_are_listed_with_who_says_what(acme) -> None:
    acme.write_config(
        """
        [agent]
        provider = "one"
        model = "big"
        [providers.one]
        type = "acme"
        [providers.two]
        type = "closed"
        [models.big]
        max_output = 7
        price = {input = 1, output = 2.5}
        """
    )
    shown = acme.run("models", "list")
    assert shown.code == 0, shown.err
    assert "*  one/big" in shown.out
    assert "$1 read, $2.5 written" in shown.out
    assert "Not asked: two: It is closed." in shown.err
    assert "come again" in shown.err
    found = acme.run("models", "list", "--json").json
    assert [(item["provider"], item["model"]) for item in found["models"]] == [
        ("one", "big"),
        ("one", "gpt-5-mini"),
    ]
    assert [item["provider"] for item in found["problems"]] == ["two"]
    assert found["default"] == {"model": "one/big", "why": "agent.provider names it"}
    assert "one/big answers: agent.provider names it." in shown.err
    big, mini = found["models"]
    assert (big["context"], big["max_output"], big["default"]) == (64_000, 7, True)
    assert big["sources"]["context"] == "provider one"
    assert big["sources"]["max_output"] == 'settings: [models."big"]'
    assert big["price"] == {"input": 1, "output": 2.5, "cached": None}
    assert (mini["price"], mini["default"]) == (None, False)
    # both numbers are those of its family, but one of them the provider states
    assert mini["sources"]["context"] == "provider one"
    assert mini["sources"]["max_output"] == "table of families"
    one = acme.run("models", "show", "one/big", "--json").json["model"]
    assert one == big
    assert acme.run("models", "show", "gpt-5-mini", "--json").json["model"] == mini
    assert "64,000 tokens" in acme.run("models", "show", "one/big").out


@pytest.mark.parametrize(
    ("price", "here", "told"),
    [
        (None, False, "unknown"),
        (Price(input=0.0, output=0.0), True, "free: on this machine"),
        (Price(input=0.0, output=0.0), False, "free"),
        (Price(input=0.0, output=2.0), False, "$0 read, $2 written"),
    ],
)
def test_a_price_of_nothing_says_why(price: Price | None, here: bool, told: str) -> None:
    assert price_text(ModelFacts(provider="x", model="m", price=price, is_free_here=here)) == told


def test_a_model_that_nobody_offers_is_known_by_its_family_or_assumed(here) -> None:
    known = here.run("models", "show", "gpt-5.5", "--json").json["model"]
    assert (known["context"], known["sources"]["context"]) == (400_000, "table of families")
    assert known["price"] is None
    unknown = here.run("models", "show", "xyz").out
    assert "assumed: nobody says" in unknown
    assert "unknown" in unknown


def test_the_default_is_written_beside_what_is_there(acme) -> None:
    acme.write_config('# mine\n[agent]\nmodel = "x" # was\n[providers.one]\ntype = "acme"\n')
    ended = acme.run("models", "default", "one/a/b", "--json")
    assert (ended.json["provider"], ended.json["model"]) == ("one", "a/b")
    written = acme.config.read_text()
    assert written.startswith("# mine")
    assert tomllib.loads(written)["agent"] == {"model": "a/b", "provider": "one"}
    assert acme.run("models", "default", "one").out == "one answers from now on.\n"
    assert tomllib.loads(acme.config.read_text())["agent"] == {"provider": "one"}


def test_a_default_that_is_none_is_refused_with_what_helps(acme) -> None:
    acme.write_config('[providers.one]\ntype = "acme"\n')
    ended = acme.run("models", "default", "onne/m")
    assert ended.code == 2
    assert "pegboard models default one" in ended.err
    ended = acme.run("models", "default", "local/smollm2")
    assert "pip install pegboard-provider-local" in ended.err
    assert "agent" not in tomllib.loads(acme.config.read_text())


def test_a_file_is_added_whole_or_not_at_all(here) -> None:
    (here.work / "tiny.gguf").write_bytes(WHOLE)
    added = here.run("models", "add", "tiny.gguf", "--name", "mine", "--json").json["model"]
    assert (added["name"], added["size"], added["parameters"]) == ("mine", len(WHOLE), 8)
    files = ModelFiles(here.home / "data" / "plugins" / "provider-local")
    (found,) = files.all()
    assert found.path.read_bytes() == WHOLE
    assert "pegboard models default local/tiny" in here.run("models", "add", "tiny.gguf").out
    (here.work / "cut.gguf").write_bytes(WHOLE[:60])
    ended = here.run("models", "add", "cut.gguf")
    assert ended.code == 3
    assert "cut off" in ended.err
    ended = here.run("models", "add", "smolm2")
    assert ended.code == 2
    assert "(smollm2)" in ended.err
    assert [model.name for model in files.all()] == ["mine", "tiny"]


def test_weights_of_an_installed_package_are_taken_when_their_digest_is_right(here) -> None:
    package = here.site / MODELS["smollm2"].module
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "other.gguf").write_bytes(WHOLE)
    ended = here.run("models", "add", "smollm2")
    assert ended.code == 3
    assert "holds other weights than it should" in ended.err
    assert ModelFiles(here.home / "data" / "plugins" / "provider-local").all() == []


def test_packages_of_weights_are_pinned() -> None:
    for model in MODELS.values():
        assert isinstance(model, Packaged)
        assert "==" in model.requirement
        assert len(model.sha256) == 64


def test_a_model_file_error_has_the_code_of_wrong_settings() -> None:
    assert ModelFileError.exit_code == 3


def spending(**facts) -> Spending:
    given = {"at": time.time(), "provider": "acme", "model": "m", "key": "cli/1"}
    return Spending(**{**given, **facts})


CALLS = (
    spending(turn="t1", input=1_000, output=100, cached=500, cost=0.25),
    spending(turn="t1", input=10, output=10, cost=None, plugin="delegation"),
    spending(turn="t2", input=0, output=0, cost=None),
    spending(turn="t2", input=5, output=5, cost=None, model="free", key="tg/2"),
)


def test_usage_is_summed_and_what_is_unknown_is_said(here) -> None:
    async def fill() -> None:
        store = await open_store(here.home / "state")
        for item in CALLS:
            await store.spend(item)
        await store.aclose()

    assert "No model was asked" in here.run("usage").out
    anyio.run(fill)
    here.write_config("[models.free]\nprice = {input = 0, output = 0}\n")
    found = here.run("usage", "--by", "model", "--json").json
    assert [(item["name"], item["requests"], item["cost"]) for item in found["usage"]] == [
        ("acme/m", 3, 0.25),
        ("acme/free", 1, 0.0),
    ]
    assert found["usage"][0]["unpriced"] == 1
    assert found["total"]["input"] == 1_015
    shown = here.run("usage").out
    assert "$0.2500 and 1 unknown" in shown
    by_plugin = here.run("usage", "--by", "plugin").out
    assert "delegation" in by_plugin
    assert "unknown" in by_plugin
    names = [
        item["name"] for item in here.run("usage", "--by", "conversation", "--json").json["usage"]
    ]
    assert names == ["cli/1", "tg/2"]
    assert here.run("usage", "--since", "0h", "--json").json["usage"] == []


def test_days_are_in_order_and_the_rest_by_tokens() -> None:
    old = spending(at=0.0, input=1)
    days = sums([*CALLS, old], "day", lambda item: item.cost)
    assert days == sorted(days, key=lambda item: item.name)
    assert total([old], lambda item: None).cost_text() == "unknown"
    assert total([old], lambda item: 0.0).cost_text() == "free"
    assert total([], lambda item: 0.0).cost_text() == "$0.0000"
    assert total([], lambda item: None).to_dict()["cost"] == 0.0


@pytest.mark.parametrize(
    ("text", "at"), [("2h", 92_800.0), ("1d", 13_600.0), ("1970-01-01T00:00:00+00:00", 0.0)]
)
def test_a_time_is_a_span_or_a_date(text: str, at: float) -> None:
    assert since_time(text, 100_000.0) == at


@pytest.mark.parametrize("text", ["", "x", "7y", "-1d", "2026-13-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no time"):
        since_time(text, 0.0)
