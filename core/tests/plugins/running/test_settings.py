from __future__ import annotations

import sys
import types

import pytest
from pydantic import BaseModel, Field, RootModel, SecretStr, model_validator

from pegboard.contracts.errors import BuildError, ConfigError
from pegboard.plugins.building.settings import build_settings, load_model


class Settings(BaseModel, extra="forbid"):
    url: str
    tries: int = Field(3, ge=1)
    key: SecretStr | None = None

    @model_validator(mode="after")
    def fits(self):
        if self.url == "bad":
            raise ValueError("url and tries do not fit")
        return self


class Names(RootModel[list[str]]):
    pass


@pytest.fixture
def module(monkeypatch):
    made = types.ModuleType("made_settings")
    made.Settings, made.Names, made.number = Settings, Names, 3
    monkeypatch.setitem(sys.modules, "made_settings", made)


def test_settings_are_an_instance_of_the_model(module):
    made = build_settings("made_settings:Settings", {"url": "x", "tries": "4"}, "plugins.x")
    assert made == Settings(url="x", tries=4)


def test_without_a_model_settings_are_a_dict():
    assert build_settings(None, {"a": 1}, "plugins.x") == {"a": 1}


def test_each_wrong_value_has_its_line(module):
    given = {"tries": 0, "ur": "x"}
    with pytest.raises(ConfigError) as caught:
        build_settings("made_settings:Settings", given, "providers.groq")
    assert caught.value.details["problems"] == [
        "providers.groq.url: field required",
        "providers.groq.tries: Input should be greater than or equal to 1",
        "providers.groq.ur: extra inputs are not permitted",
    ]
    assert caught.value.message.count("\n") == 3


def test_a_wrong_value_is_not_repeated_for_it_may_be_a_secret(module):
    given = {"url": "x", "key": ["s3cret"], "tries": "s3cret"}
    with pytest.raises(ConfigError) as caught:
        build_settings("made_settings:Settings", given, "plugins.x")
    assert "s3cret" not in str(caught.value.to_dict())


def test_a_rule_over_the_whole_table_is_told_like_any_other(module):
    with pytest.raises(ConfigError, match=r"^plugins\.x: url and tries do not fit$"):
        build_settings("made_settings:Settings", {"url": "bad"}, "plugins.x")


@pytest.mark.parametrize(
    "ref, words",
    [
        ("made_settings:Setings", "did you mean 'Settings'"),
        ("made_settings:number", "is no pydantic model"),
        ("made_settings:Names", "is no pydantic model"),
        ("made_setings:Settings", "No module named 'made_setings'"),
        (":Settings", "is no reference"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(module, ref, words):
    with pytest.raises(BuildError, match=words):
        load_model(ref)
