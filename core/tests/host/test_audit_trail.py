from __future__ import annotations

import json
import logging
from contextlib import closing

import anyio
import pytest

from pegboard import Plugin
from pegboard.contracts.audit import AuditEvent
from pegboard.contracts.clock import SystemClock
from pegboard.contracts.verdict import Deny
from pegboard.host import audit_trail as audit_trail_module
from pegboard.host.audit_trail import AuditTrail
from pegboard.store.audit_log import records, verified
from pegboard.store.database import Database
from pegboard.store.sqlite import FILE_NAME, open_for_reading
from pegboard.testing.host import HostFactory
from pegboard.testing.model import ScriptedModel

pytestmark = pytest.mark.anyio

EVENT = AuditEvent(at=1.0, kind="deny", rule="r", outcome="deny", tool="a:b", sender="x:1")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def open_host(tmp_path):
    return HostFactory(tmp_path)


def events(state):
    with closing(open_for_reading(state / FILE_NAME)) as connection:
        assert verified(connection).broken is None
        return [json.loads(record.event) for record in records(connection)]


def plugin():
    made = Plugin(summary="For tests")

    @made.tool(effects={"read"})
    def greet(key: str = "") -> str:
        """Greet."""
        if key:
            raise ValueError(f"401: the key {key} is wrong")
        return "hello"

    return made


async def test_a_run_that_is_refused_nothing_opens_no_store(open_host):
    async with open_host(inline={"demo": plugin()}) as under_test:
        assert (await under_test.call("greet")).error is None
        assert not (under_test.home / "state" / FILE_NAME).exists()


async def test_refusals_of_a_guest_are_recorded_and_repetitions_counted(open_host):
    async with open_host(inline={"demo": plugin()}) as under_test:
        for _ in range(4):
            result = await under_test.call("greet", as_guest=True)
            assert result.error.code == "not_found"
    found = events(under_test.home / "state")
    assert [(event["rule"], event["tool"], event["count"]) for event in found] == [
        ("guest.allow_list", "demo:greet", 1),
        ("guest.allow_list", "demo:greet", 3),
    ]
    assert found[0]["disclosed"] is False
    assert found[0]["sender"] == "local:person"


async def test_two_hosts_at_once_record_in_one_chain(open_host):
    async with (
        open_host(inline={"demo": plugin()}) as first,
        open_host(inline={"other": plugin()}) as second,
    ):
        for under_test in (first, second, first, second):
            await under_test.call("greet", as_guest=True)
    assert [event["count"] for event in events(first.home / "state")] == [1, 1, 1, 1]


async def test_a_disclosed_event_is_on_the_disk_when_it_was_told(tmp_path):
    store = Database(tmp_path)
    trail = AuditTrail(store, SystemClock(), str)
    await trail(EVENT)
    assert len(events(tmp_path)) == 1
    await trail.aclose()
    await store.aclose()


async def test_a_count_is_written_when_its_window_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(audit_trail_module, "WINDOW_S", 0.05)
    store = Database(tmp_path)
    trail = AuditTrail(store, SystemClock(), str)
    for _ in range(3):  # long ago by the clock, so their window is over when the timer looks
        await trail(EVENT)
    with anyio.fail_after(5):
        while len(events(tmp_path)) < 2:
            await anyio.sleep(0.02)
    assert [event["count"] for event in events(tmp_path)] == [1, 2]
    await trail.aclose()
    await store.aclose()


async def test_a_log_that_can_not_be_written_is_said_and_stops_nothing(tmp_path, caplog):
    (tmp_path / "state").write_text("in the way")
    store = Database(tmp_path / "state")
    trail = AuditTrail(store, SystemClock(), str)
    await trail(EVENT)
    await trail.aclose()
    await store.aclose()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "the audit log misses an event" in caplog.text


async def test_a_secret_that_a_plugin_reads_stays_out_of_errors_and_logs(open_host, caplog):
    secret = "quite-a-secret-value"
    made = Plugin(summary="For tests", secrets=["service_key"])

    @made.tool(effects={"read"})
    def look(ctx: object) -> str:
        """Look."""
        key = ctx.plugin.secret("service_key")  # type: ignore[attr-defined]
        ctx.plugin.log.warning("using %s", key)  # type: ignore[attr-defined]
        raise ValueError(f"refused for {key}")

    async with open_host(inline={"demo": made}, secrets={"service_key": secret}) as under_test:
        result = await under_test.call("look")
    assert "[redacted]" in result.error.message
    assert secret not in str(result) + caplog.text
    assert "using [redacted]" in caplog.text


async def test_an_event_is_recorded_though_the_run_is_stopped_meanwhile(tmp_path):
    store = Database(tmp_path)
    trail = AuditTrail(store, SystemClock(), str)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await trail(EVENT)
    await trail.aclose()
    await store.aclose()
    assert len(events(tmp_path)) == 1


async def test_the_error_that_a_person_reads_holds_no_secret(open_host):
    made = Plugin(summary="For tests")

    @made.hook
    def pegboard_message_guard(event: object) -> Deny:
        return Deny("the proxy said: quite-a-secret-value")

    secrets = {"service_key": "quite-a-secret-value"}
    async with open_host(inline={"demo": made}, model=ScriptedModel(), secrets=secrets) as opened:
        outcome = await opened.ask("hello")
    assert outcome.error["message"] == "the proxy said: [redacted]"
