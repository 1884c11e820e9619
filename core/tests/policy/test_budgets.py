from __future__ import annotations

import shlex

import pytest

from pegboard.config.keys import split_key
from pegboard.policy.budgets import BudgetSettings, Used, last_asked, spent_out, unpriced


def used(*calls: tuple[int, float | None]) -> list[Used]:
    return [Used("acme", "m", tokens, cost) for tokens, cost in calls]


@pytest.mark.parametrize(
    ("settings", "scope", "calls", "says", "fix"),
    [
        ({}, "run", [(10**9, None)], None, None),
        ({"tokens_per_run": 100}, "run", [(99, None)], None, None),
        ({"tokens_per_run": 100}, "day", [(100, None)], None, None),
        (
            {"tokens_per_run": 100},
            "run",
            [(60, None), (60, 0.1)],
            "The budget of this run is used up: 100 tokens (120 used).",
            "pegboard config set budgets.tokens_per_run 240",
        ),
        (
            {"tokens_per_run": 100},
            "run",
            [(100, None)],
            "The budget of this run is used up: 100 tokens (100 used).",
            "pegboard config set budgets.tokens_per_run 200",
        ),
        ({"cost_per_day": 1}, "day", [(5, 0.99)], None, None),
        (
            {"cost_per_day": 1},
            "day",
            [(5, 0.5), (5, 0.5)],
            "The budget of 24 hours is used up: $1.00 ($1.00 used).",
            "pegboard config set budgets.cost_per_day 2",
        ),
        (
            {"cost_per_day": 1},
            "day",
            [(5, 0.7), (5, 0.55)],
            "The budget of 24 hours is used up: $1.00 ($1.25 used).",
            "pegboard config set budgets.cost_per_day 3",
        ),
        ({"cost_per_conversation": 1}, "conversation", [(5, 0.1), (5, None)], None, None),
        (
            {"cost_per_day": 1},
            "day",
            [(5, None), (5, 1.0), (5, None), (0, None)],
            "The budget of 24 hours is used up: $1.00 ($1.00 used, not counting 2 of unknown "
            "price).",
            "pegboard config set budgets.cost_per_day 2",
        ),
        ({"cost_per_run": 1}, "run", [(0, None)], None, None),
        ({"cost_per_run": 1, "unpriced": "allow"}, "run", [(5, None)], None, None),
    ],
)
def test_a_budget_that_is_used_up_is_named_with_what_raises_it(
    settings: dict[str, object],
    scope: str,
    calls: list[tuple[int, float | None]],
    says: str | None,
    fix: str | None,
) -> None:
    error = spent_out(BudgetSettings.from_settings(settings), scope, used(*calls), disclosed=True)
    assert (error and error.message, error and error.fix) == (says, fix)


@pytest.mark.parametrize(
    ("settings", "scopes"),
    [
        ({}, ()),
        ({"unpriced": "allow"}, ()),
        ({"tokens_per_day": 5}, ("day",)),
        ({"cost_per_conversation": 5.0}, ("conversation",)),
        ({"cost_per_day": 5.0, "tokens_per_run": 5}, ("run", "day")),
    ],
)
def test_a_scope_counts_when_it_has_a_budget_of_tokens_or_of_money(
    settings: dict[str, object], scopes: tuple[str, ...]
) -> None:
    assert BudgetSettings.from_settings(settings).scopes == scopes


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({}, None),
        ({"tokens_per_run": 5}, None),
        ({"cost_per_run": 5, "unpriced": "allow"}, None),
        ({"cost_per_day": 5}, "budgets.cost_per_day"),
        ({"cost_per_day": 5, "cost_per_run": 1}, "budgets.cost_per_run"),
    ],
)
def test_only_a_budget_of_money_refuses_a_model_without_a_price(
    settings: dict[str, object], key: str | None
) -> None:
    found = unpriced(BudgetSettings.from_settings(settings), "acme", "m", disclosed=True)
    assert (found and found.details["budget"]) == key
    assert found is None or (
        found.message == f"{key} can't be held: nobody says what the model acme/m costs."
    )
    assert found is None or "budgets.unpriced allow" in str(found.fix)


def test_a_server_of_this_machine_may_run_the_model_itself_and_that_is_one_line() -> None:
    settings = BudgetSettings(cost_per_day=5.0)
    found = unpriced(settings, "near", "m", disclosed=True, may_be_free=True)
    assert found is not None and found.fix is not None
    free = "pegboard config set 'models.\"near/m\".price' '{input = 0, output = 0}'"
    assert found.fix.startswith(f"where it runs on this machine: {free}; else: ")


def test_the_name_of_a_model_that_a_server_made_up_is_no_command() -> None:
    name = "x'; touch gone; '\".y"
    found = unpriced(BudgetSettings(cost_per_day=5.0), "near", name, disclosed=True)
    assert found is not None
    _, _, _, key, value, *_ = shlex.split(str(found.fix))
    assert split_key(key) == ("models", f"near/{name}", "price")
    assert value.startswith("{input = 1.0")


def test_a_guest_reads_neither_amounts_nor_settings() -> None:
    settings = BudgetSettings(tokens_per_run=100, cost_per_run=1.0)
    for error in (
        spent_out(settings, "run", used((500, 7.0)), disclosed=False),
        spent_out(settings, "run", used((5, 1.0), (5, None)), disclosed=False),
        unpriced(settings, "acme", "m1", disclosed=False, may_be_free=True),
    ):
        assert error is not None
        assert error.fix is None
        assert not any(character.isdigit() or character == "$" for character in error.message)


def test_who_chooses_the_model_itself_is_judged_by_what_answered_last() -> None:
    calls = [Used("acme", "a", 5, 0.1), Used("acme", "b", 5, None), Used("acme", "", 0, None)]
    assert last_asked([*calls, Used("other", "c", 5, 0.1)], "acme") == calls[1]
    assert last_asked(calls, "nobody") is None
