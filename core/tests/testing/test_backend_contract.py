"""Each law of `BackendContract` fails for a backend that breaks it."""

from __future__ import annotations

import importlib.util
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pegboard.contracts.errors import StoreError
from pegboard.contracts.turn import Begun
from pegboard.engine.embedded import EmbeddedEngine
from pegboard.store import turn_rows
from pegboard.store.embedded import EmbeddedStore
from pegboard.testing import BackendContract
from pegboard.testing.contracts import backend_engine, backend_engine_waits, backend_suite

pytestmark = pytest.mark.anyio

SPEC = importlib.util.spec_from_file_location(
    "broken_backends", Path(__file__).with_name("broken_backends.py")
)
assert SPEC is not None and SPEC.loader is not None
broken = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(broken)


class Suite(BackendContract):
    store: type = EmbeddedStore
    engine: type = EmbeddedEngine

    def make_backend(self, folder: Path) -> Any:
        return broken.Backend(folder, self.store, self.engine)


# for the laws that start processes, which find a suite by its name


class Forgetful(Suite):
    store = broken.beginning(lambda begun: replace(begun, calls={}, outbox=()))


class Heedless(Suite):
    store = broken.store_that(_runs=lambda self, worker, turn, fence: False)


class Unfenced(Heedless):
    def make_backend(self, folder: Path) -> Any:
        turn_rows.held = broken.no_fence
        return super().make_backend(folder)


class Careless(Suite):
    engine = broken.Careless


class Twofold(Suite):
    store = broken.taking(lambda came: replace(came, external_id="", turn=backend_suite.new_id()))


def unfenced(monkeypatch):
    monkeypatch.setattr(turn_rows, "held", broken.no_fence)


def unended(monkeypatch):
    monkeypatch.setattr(turn_rows, "held", broken.no_end)


def unordered(monkeypatch):
    statement = broken.no_order(turn_rows._TO_BEGIN)
    assert statement != turn_rows._TO_BEGIN
    monkeypatch.setattr(turn_rows, "_TO_BEGIN", statement)


def pending(begun: Begun) -> Begun:
    return replace(begun, outbox=tuple(replace(part, state="pending") for part in begun.outbox))


STORES = [
    (
        "what_comes_in_is_kept_as_it_is",
        broken.wrong("turn", lambda found: replace(found, caller={})),
    ),
    ("each_conversation_counts_from_one", broken.taking(lambda came: replace(came, key="all"))),
    ("what_comes_at_once_gets_different_numbers", broken.numbered(lambda seq: min(seq, 49))),
    (
        "what_comes_five_times_at_once_gets_one_turn",
        broken.taking(lambda came: replace(came, external_id="")),
    ),
    (
        "only_the_same_id_of_the_same_chat_is_the_same",
        broken.taking(lambda came: replace(came, chat="all")),
    ),
    ("an_unknown_turn_is_none", broken.wrong("turn", lambda found: found or "something")),
    (
        "an_attempt_has_the_fence_and_all_that_it_needs",
        broken.beginning(lambda begun: replace(begun, turn=replace(begun.turn, message={}))),
    ),
    ("a_turn_waits_for_the_one_before_it", unordered),
    ("what_has_ended_is_over", broken.called("finish", error=None)),
    ("an_old_attempt_writes_nothing", unfenced),
    ("after_the_end_nothing_is_written", unended),
    ("a_living_hosts_turn_is_busy", Heedless.store),
    ("of_those_that_begin_at_once_one_does", Heedless.store),
    ("a_turn_that_never_ends_is_given_up", broken.called("begin", max_attempts=99)),
    ("a_turn_that_never_ends_is_given_up", broken.idle("dead_turns", [])),
    (
        "that_a_turn_was_given_up_can_be_told",
        broken.beginning(lambda begun: replace(begun, given_up=False)),
    ),
    ("handing_back_counts_for_nothing", broken.store_that(release=broken.release_counted)),
    ("a_waiting_turn_begins_at_its_time", broken.called("begin", now=2e9)),
    ("a_turn_without_a_time_waits_to_be_woken", broken.store_that(wake=broken.wake_always)),
    (
        "a_turn_that_was_woken_does_not_begin_to_wait",
        broken.store_that(wake=broken.wake_waiting_only),
    ),
    ("what_runs_is_asked_to_stop", broken.idle("ask_to_stop", [])),
    ("what_is_queued_is_asked_to_stop", broken.store_that(ask_to_stop=broken.stop_begun_only)),
    (
        "what_nobody_wrote_is_not_stopped_before_it_began",
        broken.store_that(ask_to_stop=broken.stop_all),
    ),
    ("what_waits_is_asked_to_stop", broken.store_that(ask_to_stop=broken.stop_running_only)),
    ("a_turn_that_is_to_stop_does_not_begin_to_wait", broken.idle("ask_to_stop", [])),
    ("a_new_epoch_ends_what_is_open", broken.idle("new_epoch", [])),
    (
        "the_turn_that_asks_for_a_new_epoch_belongs_to_it",
        broken.store_that(new_epoch=broken.new_epoch_of_all),
    ),
    ("a_recorded_call_survives", broken.idle("record")),
    ("intending_again_is_the_next_attempt", broken.beginning(broken.intended_once)),
    ("calls_of_one_turn_are_not_anothers", broken.store_that(begin=broken.begin_sharing_calls)),
    ("a_large_result_is_kept_whole", broken.store_that(record=broken.record_cut)),
    ("what_was_recorded_stays_as_it_is", broken.store_that(record=broken.record_again)),
    (
        "a_turn_is_looked_at_without_beginning_it",
        broken.wrong("begun", lambda found: found and replace(found, calls={})),
    ),
    ("a_reply_is_kept_once", broken.idle("reply")),
    ("what_was_sent_is_known", broken.idle("sent")),
    ("a_stale_part_is_not_sent", broken.store_that(sending=broken.sending_always)),
    (
        "what_a_turn_has_not_sent_at_its_end_is_stale",
        broken.store_that(sending=broken.sending_always),
    ),
    ("a_newer_message_does_not_make_a_reply_stale", broken.idle("sending", False)),
    ("a_part_that_was_being_sent_is_found", broken.beginning(pending)),
    ("a_part_that_can_not_be_delivered_is_not_in_doubt", broken.idle("give_up", None)),
    ("a_doubt_is_told_once", broken.store_that(doubtful=broken.doubtful_for_ever)),
    (
        "an_answer_reaches_the_next_attempt",
        broken.beginning(lambda begun: replace(begun, approvals={})),
    ),
    ("an_answer_counts_once", broken.store_that(answer=broken.answer_always)),
    ("only_its_own_conversation_answers", broken.store_that(answer=broken.answer_anywhere)),
    ("silence_is_no_answer", broken.called("answer", now=0.0)),
    (
        "one_question_stands_for_all_that_ask_the_same",
        broken.store_that(ask=broken.ask_alone),
    ),
    ("a_call_is_asked_about_once", broken.store_that(ask=broken.ask_anew)),
    ("what_is_asked_again_later_is_asked_anew", broken.store_that(ask=broken.ask_once)),
    (
        "a_turns_messages_come_with_its_end",
        broken.store_that(finish=broken.finish_without_messages),
    ),
    (
        "the_tokens_are_those_of_the_last_request",
        broken.store_that(finish=broken.finish_forgetting_tokens),
    ),
    (
        "a_turn_that_said_nothing_adds_nothing",
        broken.store_that(finish=broken.finish_with_a_message),
    ),
    ("conversations_do_not_mix", broken.store_that(transcript=broken.transcript_of_all)),
    ("a_summary_stands_for_what_was_before", broken.idle("summarize", True)),
    (
        "a_summary_that_comes_too_late_is_dropped",
        broken.store_that(summarize=broken.summarize_always),
    ),
    (
        "a_new_epoch_begins_with_an_empty_history",
        broken.store_that(transcript=broken.transcript_for_ever),
    ),
    ("conversations_are_listed", broken.called("conversations", limit=None)),
    ("a_copy_has_the_same_history", broken.idle("fork", True)),
    ("what_is_forgotten_is_gone", broken.store_that(forget=broken.forget_by_name)),
    ("what_was_spent_is_found", broken.called("spent", since=0.0)),
]
ENGINES = [
    ("what_is_submitted_is_delivered", broken.engine_that(_deliver=broken.submit_nothing)),
    ("what_is_open_is_delivered", broken.Blind),
    ("a_turn_that_nobody_submitted_is_found", broken.Blind),
    ("the_same_turn_five_times_is_run_once", broken.engine_that(submit=broken.submit_eagerly)),
    ("turns_of_a_conversation_come_in_order_one_at_a_time", broken.Apart),
    ("a_handler_that_fails_is_asked_again", broken.engine_that(_handled=broken.handled_unguarded)),
    (
        "a_fenced_delivery_is_dropped_and_the_turn_is_not_lost",
        broken.engine_that(_handled=broken.fenced_is_later, resting=lambda self: ()),
    ),
    ("a_host_delivers_what_it_accepts", broken.Undiscerning),
    (
        "a_busy_turn_comes_again_soon",
        broken.engine_that(_handled=broken.busy_is_later, resting=lambda self: ()),
    ),
    ("a_later_turn_comes_at_its_time", broken.engine_that(_handled=broken.later_is_busy)),
    (
        "a_poke_wakes_a_later_turn",
        broken.engine_that(poke=broken.poke_nothing, resting=lambda self: ()),
    ),
    ("a_turn_that_another_host_woke_goes_on", broken.engine_that(resting=lambda self: ())),
    ("a_poke_reaches_what_runs", broken.engine_that(poke=broken.poke_resting_only)),
    (
        "a_poke_is_not_lost_while_a_turn_goes_to_wait",
        broken.engine_that(poke=broken.poke_resting_only, resting=lambda self: ()),
    ),
    ("at_most_so_many_run_at_a_time", broken.engine_that(serve=broken.serve_with_one_more)),
    (
        "one_busy_conversation_does_not_delay_the_others",
        broken.engine_that(_put=broken.put_in_one_queue),
    ),
    ("background_work_leaves_a_slot", broken.engine_that(_put=broken.put_as_a_person)),
    (
        "background_work_is_done_when_nobody_waits",
        broken.engine_that(_put=broken.put_as_a_person),
    ),
    (
        "a_person_behind_background_work_is_not_background",
        broken.engine_that(_put=broken.put_as_background),
    ),
    ("what_runs_may_finish", broken.engine_that(close=broken.close_at_once)),
    ("what_does_not_finish_is_handed_back", broken.engine_that(close=broken.close_never)),
    ("cancelling_ends_it", broken.Lingering),
    ("closing_again_does_nothing", broken.engine_that(close=broken.close_when_served)),
]
SUITES = [
    ("a_host_may_die_at_any_write", Forgetful),
    ("a_living_host_takes_over_from_a_dead_one", Heedless),
    ("a_host_that_stood_still_does_no_harm", Unfenced),
    ("a_turn_that_kills_its_host_is_given_up", Careless),
    ("what_several_hosts_receive_at_once_gets_one_turn", Twofold),
]
ARCHIVES = [
    ("a_person_has_the_conversations_they_wrote_in", broken.Unscoped),
    ("an_erased_person_is_gone_and_others_stay", broken.Unerasing),
    ("what_is_erased_is_known_until_it_is_settled", broken.Forgetful),
    ("what_was_said_long_ago_expires", broken.Undying),
]
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "what_has_ended_is_over": ("failed",),
    "an_old_attempt_writes_nothing": ("record",),
    "after_the_end_nothing_is_written": ("record",),
    "a_stale_part_is_not_sent": ("stopped",),
    "a_poke_wakes_a_later_turn": (None,),
    "background_work_leaves_a_slot": (4,),
    "a_host_may_die_at_any_write": ("reply", "before"),
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(backend_suite, "WAIT_S", 1.0)
    monkeypatch.setattr(backend_suite, "LIMIT_S", 5.0)
    monkeypatch.setattr(backend_engine, "PROMPT_S", 2.0)
    monkeypatch.setattr(backend_engine_waits, "PROMPT_S", 2.0)
    monkeypatch.setattr(turn_rows, "held", turn_rows.held)  # one of the suites changes it


async def fails(suite: BackendContract, law: str, folder: Path) -> None:
    with pytest.raises((AssertionError, ExceptionGroup, StoreError, TimeoutError)):
        await getattr(suite, f"test_{law}")(folder, *ARGUMENTS.get(law, ()))


@pytest.mark.parametrize(("law", "breaking"), STORES)
async def test_a_broken_store_fails_the_law(law, breaking, tmp_path, monkeypatch):
    class Broken(Suite):
        store = breaking if isinstance(breaking, type) else EmbeddedStore

    if not isinstance(breaking, type):
        breaking(monkeypatch)
    await fails(Broken(), law, tmp_path)


@pytest.mark.parametrize(("law", "breaking"), ENGINES)
async def test_a_broken_engine_fails_the_law(law, breaking, tmp_path):
    class Broken(Suite):
        engine = breaking

    await fails(Broken(), law, tmp_path)


@pytest.mark.parametrize(("law", "suite"), SUITES)
async def test_a_backend_that_is_broken_for_processes_fails_the_law(law, suite, tmp_path):
    await fails(suite(), law, tmp_path)


@pytest.mark.parametrize(("law", "archive"), ARCHIVES)
async def test_a_broken_archive_fails_the_law(law, archive, tmp_path, monkeypatch):
    monkeypatch.setattr(broken.Backend, "archive_type", archive)
    await fails(Suite(), law, tmp_path)


def test_every_law_is_seen_to_fail():
    laws = {
        name.removeprefix("test_")
        for name, _ in inspect.getmembers(BackendContract, inspect.isfunction)
        if name.startswith("test_")
    }
    assert laws == {law for law, _ in (*STORES, *ENGINES, *SUITES, *ARCHIVES)}


async def test_a_suite_without_a_backend_says_what_is_missing(tmp_path):
    with pytest.raises(pytest.fail.Exception, match="needs a method `make_backend` that returns"):
        BackendContract().make_backend(tmp_path)
