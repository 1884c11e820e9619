from __future__ import annotations

import json

import pytest

from pegboard.contracts.result import AddTools
from pegboard.contracts.tool import OutputLimits
from pegboard.policy.snapshot import PolicySnapshot

pytestmark = pytest.mark.anyio


@pytest.fixture
def shop(world):
    world.add_core()

    @world.add
    async def create_invoice(customer: str, amount: float = 0.0) -> str:
        """Create an invoice for a customer.

        Args:
            customer: Who pays.
            amount: How much, in euros.
        """
        return f"{customer} owes {amount}"

    @world.add(effects={"exec"})
    async def run_invoices() -> str:
        """Run all invoices."""
        return "ran"

    @world.add(audience="owner")
    async def invoice_diary() -> str:
        """Read the owner's invoice diary."""
        return "dear diary"

    return world


def data(**arguments):
    return json.dumps(arguments)


async def test_search_returns_the_best_and_has_them_declared(shop):
    result = await shop.call("tool_search", data(query="create an invoice"))
    assert result.output.startswith("create_invoice: Create an invoice for a customer.\n")
    assert "customer (string, required), amount (number)" in result.output
    assert isinstance(result.control, AddTools)
    assert result.control.names[0] == "create_invoice"
    assert result.structured["matches"][0]["name"] == "create_invoice"
    assert shop.activated == []


async def test_search_without_a_match_says_so(shop):
    result = await shop.call("tool_search", data(query="zebra"))
    assert result.error is None
    assert "No tool matches" in result.output
    assert result.control is None


async def test_search_sees_tools_that_came_later(shop, plain):
    await shop.call("tool_search", data(query="invoice"))
    shop.registry.register(plain("paint_zebra", description="Paint a zebra."))
    result = await shop.call("tool_search", data(query="zebra"))
    assert result.control.names == ("paint_zebra",)


async def test_discovery_shows_exactly_what_the_caller_could_call(shop, guest):
    shop.dispatcher.policy = PolicySnapshot(
        guest_tools=frozenset({"create_invoice", "invoice_diary", "run_invoices"})
    )
    worker = shop.caller.narrow(classes=["read_only"])
    for caller, visible in [
        (guest, {"create_invoice"}),
        (worker, {"create_invoice", "invoice_diary"}),
        (shop.caller, {"create_invoice", "invoice_diary", "run_invoices"}),
    ]:
        found = await shop.call("tool_search", data(query="invoice", limit=20), caller=caller)
        assert set(found.control.names) == visible
        for name in ("create_invoice", "invoice_diary", "run_invoices"):
            for tool in ("tool_describe", "tool_help"):
                result = await shop.call(tool, data(name=name), caller=caller)
                assert (result.error is None) is (name in visible)


async def test_what_is_above_the_ceiling_is_described_as_what_does_not_exist(shop, guest):
    async def answers(name):
        return [
            (await shop.call(tool, arguments, caller=guest)).to_dict()
            for tool, arguments in [
                ("tool_describe", data(name=name)),
                ("tool_help", data(name=name)),
                ("tool_call", data(name=name)),
                ("tool_call", data(name=name, arguments={"x": 1})),
                (name, "{}"),
            ]
        ]

    hidden = await answers("run_invoices")
    shop.registry.unregister("run_invoices")
    assert hidden == await answers("run_invoices")
    assert {answer["error"]["code"] for answer in hidden} == {"not_found"}


async def test_describe_returns_the_schema(shop):
    result = await shop.call("tool_describe", data(name="create_invoice"))
    assert '"customer"' in result.output
    assert result.structured["parameters"]["required"] == ["customer"]
    assert result.structured["name"] == "create_invoice"


async def test_help_returns_all_that_a_tool_says(shop):
    result = await shop.call("tool_help", data(name="create_invoice"))
    assert "create_invoice (demo:create_invoice)" in result.output
    assert "- amount: How much, in euros." in result.output
    assert "Effects: read." in result.output
    own = await shop.call("tool_help", data(name="tool_search"))
    assert "When to use: When no declared tool" in own.output
    assert "Examples:" in own.output


async def test_tool_call_runs_what_is_inside_under_its_own_rules(shop, guest):
    call = data(name="create_invoice", arguments={"customer": "Ada", "amount": "3"})
    result = await shop.call("tool_call", call)
    assert result.output == "Ada owes 3"
    assert result.details["repairs"]
    as_text = data(name="create_invoice", arguments='{"customer": "Ada"}')
    assert (await shop.call("tool_call", as_text)).output == "Ada owes 0.0"
    worker = shop.caller.narrow(classes=["read_only"])
    denied = await shop.call("tool_call", data(name="run_invoices"), caller=worker)
    assert denied.error.code == "not_found"
    assert "run_invoices" in denied.error.message


async def test_guards_and_observers_see_what_is_inside_tool_call(shop, taking):
    seen = []
    hooks = taking(pegboard_tool_guard=lambda event: seen.append(event.tool.name))
    hooks.functions["pegboard_event"] = None
    shop.dispatcher.hooks = hooks
    await shop.call("tool_call", data(name="create_invoice", arguments={"customer": "A"}))
    assert seen == ["create_invoice"]
    assert [event.tool.name for event in hooks.observed] == ["create_invoice"]


async def test_arguments_of_what_is_inside_are_checked_by_its_schema(shop):
    result = await shop.call("tool_call", data(name="create_invoice", arguments={"custmer": "A"}))
    assert "did you mean 'customer'?" in result.error.message
    assert "Call create_invoice again" in result.error.fix


async def test_tool_call_without_a_name_says_what_it_needs(shop):
    result = await shop.call("tool_call", "{}")
    assert "name: missing" in result.error.message


async def test_tool_call_inside_tool_call_ends(shop):
    call = {"name": "create_invoice", "arguments": {"customer": "A"}}
    for _ in range(3):
        call = {"name": "tool_call", "arguments": call}
    assert (await shop.call("tool_call", json.dumps(call))).output == "A owes 0.0"
    for _ in range(20):
        call = {"name": "tool_call", "arguments": call}
    assert (await shop.call("tool_call", json.dumps(call))).error.code == "nested_too_deeply"


async def test_core_tools_that_serve_the_search_can_be_left_out(world):
    world.add_core(searching=False)
    names = {tool.spec.name for tool in world.registry.list_all()}
    assert names == {"tool_help", "tool_result_recall"}


class TestRecall:
    @pytest.fixture
    def cut(self, shop):
        @shop.add(limits=OutputLimits(chars=600, lines=20))
        async def long(outside: bool = False) -> object:
            """Return much."""
            from pegboard.contracts.result import ToolResult

            text = "\n".join(f"row {number}" for number in range(1, 1001))
            return ToolResult(text, outside=outside)

        @shop.add(limits=OutputLimits(chars=600))
        async def wide() -> str:
            """Return one long line."""
            return "日" * 40_000

        return shop

    async def test_a_cut_result_says_how_to_read_the_rest(self, cut):
        result = await cut.call("long", id="c7")
        assert 'tool_result_recall(call_id="c7", offset=11)' in result.output
        assert result.details["spilled"]["lines"] == 1000
        page = await cut.call("tool_result_recall", data(call_id="c7", offset=11, limit=3))
        assert page.output == (
            "Lines 11 to 13 of 1000 of long:\nrow 11\nrow 12\nrow 13\nContinue with offset=14."
        )

    async def test_reading_on_and_on_gives_the_whole_text(self, cut):
        await cut.call("long", id="c7")
        rows, offset = [], 1
        while offset <= 1000:
            page = await cut.call("tool_result_recall", data(call_id="c7", offset=offset))
            rows += [line for line in page.output.split("\n") if line.startswith("row ")]
            offset += 200
        assert rows == [f"row {number}" for number in range(1, 1001)]

    async def test_lines_can_be_searched_for(self, cut):
        await cut.call("long", id="c7")
        page = await cut.call("tool_result_recall", data(call_id="c7", query="ROW 99"))
        assert page.output.split("\n")[1:3] == ["99: row 99", "990: row 990"]
        none = await cut.call("tool_result_recall", data(call_id="c7", query="zebra"))
        assert "No line of long holds 'zebra'" in none.output

    async def test_a_very_long_line_is_read_in_pieces(self, cut):
        await cut.call("wide", id="c8")
        text, place = "", 0
        while place < 40_000:
            page = await cut.call("tool_result_recall", data(call_id="c8", from_char=place))
            piece = page.output.count("日")
            assert 0 < piece <= 16_000
            place += piece
            text += "日" * piece
        assert text == "日" * 40_000

    async def test_what_came_from_outside_is_fenced_again(self, cut):
        await cut.call("long", '{"outside": true}', id="c9")
        page = await cut.call("tool_result_recall", data(call_id="c9", limit=1))
        assert page.output.startswith("<<<outside ")

    async def test_what_was_not_cut_is_named_as_such(self, cut):
        await cut.call("long", id="c7")
        result = await cut.call("tool_result_recall", data(call_id="c1"))
        assert result.error.code == "not_found"
        assert "c7" in result.error.fix
        beyond = await cut.call("tool_result_recall", data(call_id="c7", offset=5000))
        assert "there are 1000" in beyond.error.message

    async def test_a_guest_is_not_sent_to_a_tool_that_it_does_not_have(self, cut, guest):
        cut.dispatcher.policy = PolicySnapshot(guest_tools=frozenset({"long"}))
        result = await cut.call("long", caller=guest)
        assert "left out" in result.output
        assert "tool_result_recall" not in result.output

    async def test_a_full_disk_costs_the_rest_of_the_text_only(self, cut):
        class Full:
            async def put(self, data, *, media_type, name=""):
                raise OSError(28, "No space left on device")

        cut.run.blobs = Full()
        result = await cut.call("long")
        assert result.error is None
        assert "left out" in result.output
        assert "tool_result_recall" not in result.output

    async def test_a_match_far_into_a_line_is_shown_whatever_its_letters_fold_to(self, cut):
        @cut.add(limits=OutputLimits(chars=600))
        async def folding() -> str:
            """Return letters that fold to two."""
            return "ß" * 3_000 + "NEEDLE" + "ß" * 3_000

        await cut.call("folding", id="c7")
        page = await cut.call("tool_result_recall", data(call_id="c7", query="needle"))
        assert "NEEDLE" in page.output


async def test_a_guests_search_tells_nothing_of_what_they_may_not_use(shop, guest, plain):
    shop.dispatcher.policy = PolicySnapshot(guest_tools=frozenset({"blue_lamp", "red_lamp"}))
    for name in ("blue_lamp", "red_lamp"):
        shop.registry.register(plain(name, description=f"A {name} and a shelf."))
    queries = ("blue red lamp", "lamp", "vault", "shelf vault lamp", "secret_vault", "tool blue")

    async def answers():
        return [
            (await shop.call("tool_search", data(query=query), caller=guest, id="c1")).to_dict()
            for query in queries
        ]

    before = await answers()
    for number in range(30):  # makes `blue` and `lamp` common words, were they counted
        text = "blue blue vault " + "lamp " * number
        shop.registry.register(plain(f"secret_vault{number}", "x", ("exec",), description=text))
    assert await answers() == before


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": 5},
        {
            "properties": {"x": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}},
        },
    ],
)
async def test_one_bad_statement_costs_the_search_nothing(shop, plain, parameters):
    bad = plain("bad_invoice", "x", description="An invoice \ud800.", parameters=parameters)
    shop.registry.register(bad)
    found = await shop.call("tool_search", data(query="invoice"))
    assert {"bad_invoice", "create_invoice"} <= set(found.control.names)
    found.output.encode()
    for name in ("tool_help", "tool_describe"):
        assert (await shop.call(name, data(name="bad_invoice"))).error is None
