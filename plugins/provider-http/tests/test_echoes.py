"""What a provider said comes back to it as it was, and to nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pegboard_provider_http.echoes import Echoes

from pegboard import Message, ProviderState, ToolCall

FACTS = {"provider": "p", "dialect": "d", "model": "m", "route": "r"}


def said(*ids: str) -> Message:
    return Message("assistant", calls=tuple(ToolCall(id, "t", "{}") for id in ids))


def grown(steps: int) -> ProviderState:
    state = None
    for step in range(steps):
        calls = said(f"c{step}").calls
        state = Echoes(state, **FACTS).state(calls, {"step": step})
    assert state is not None
    return state


def test_each_step_of_a_run_is_found_by_its_calls() -> None:
    state = Echoes(None, **FACTS).state(said("a", "b").calls, ["first"])
    state = Echoes(state, **FACTS).state(said("c").calls, ["second"])
    again = ProviderState(*FACTS.values(), payload=json.loads(json.dumps(state.payload)))
    echoes = Echoes(again, **FACTS)
    assert echoes.find(said("a", "b")) == ["first"]
    assert echoes.find(said("c")) == ["second"]
    assert echoes.find(said("b", "a")) is None
    assert echoes.find(said("a")) is None
    assert echoes.find(Message.of("assistant", "words")) is None


def test_an_answer_without_calls_need_not_come_back() -> None:
    state = Echoes(grown(1), **FACTS).state((), ["last"])
    assert [item["wire"] for item in state.payload] == [{"step": 0}]


@pytest.mark.parametrize("fact", FACTS)
def test_what_another_one_said_is_not_found(fact: str) -> None:
    echoes = Echoes(grown(1), **FACTS | {fact: "other"})
    assert echoes.find(said("c0")) is None
    assert echoes.state(said("x").calls, 1).payload == [{"calls": ["x"], "wire": 1}]


def test_a_run_of_any_length_keeps_its_last_steps() -> None:
    state = grown(250)
    assert len(state.payload) == 100
    assert Echoes(state, **FACTS).find(said("c249")) == {"step": 249}
    assert Echoes(state, **FACTS).find(said("c149")) is None


@pytest.mark.parametrize(
    "payload",
    [None, 1, "x", {}, [1], [{"calls": 1, "wire": 1}], [{"calls": [{}], "wire": 1}], [{"wire": 1}]],
)
def test_a_state_of_another_form_holds_nothing(payload: Any) -> None:
    echoes = Echoes(ProviderState(*FACTS.values(), payload=payload), **FACTS)
    assert echoes.find(said("a")) is None
    assert echoes.state(said("a").calls, 1).payload == [{"calls": ["a"], "wire": 1}]
