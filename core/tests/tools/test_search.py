from __future__ import annotations

import sqlite3

import pytest

from pegboard.contracts.tool import ToolHelp
from pegboard.tools.search import ToolSearch, catalogue_hash
from pegboard.tools.search_plain import PlainIndex, stem
from pegboard.tools.search_terms import document, query_words, words


@pytest.fixture
def catalogue(plain):
    return (
        plain("create_invoice", "shop", description="Create an invoice for a customer."),
        plain("listInvoices", "shop", description="List invoices."),
        plain("send_mail", "mail", description="Send an e-mail message.", aliases=("email",)),
        plain(
            "weather_now",
            "weather",
            description="Report the weather.",
            parameters={"type": "object", "properties": {"cityName": {"type": "string"}}},
            help=ToolHelp(when_to_use="Before a walk or a picnic."),
        ),
        plain("file_read", "files", description="Read a text file.", category="file"),
    )


@pytest.fixture(params=["file", "memory"])
def search(request, tmp_path, catalogue):
    made = ToolSearch(tmp_path / "index" if request.param == "file" else None)
    made.adopt(made.build(catalogue))
    yield made
    made.close()


def found(search, query, limit=5, allowed=lambda tool: True):
    return [tool.spec.name for tool in search.search(query, limit, allowed)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("create an invoice", "create_invoice"),
        ("creating invoices", "create_invoice"),
        ("list invoices", "listInvoices"),
        ("please send a mail", "send_mail"),
        ("email", "send_mail"),
        ("city name", "weather_now"),
        ("picnic", "weather_now"),
        ("file_read", "file_read"),
        ("files:file_read", "file_read"),
        ("READ a File", "file_read"),
        ("nvoic", "create_invoice"),
        ("eathe", "weather_now"),
    ],
)
def test_the_best_tool_comes_first(search, query, first):
    assert found(search, query)[0] == first


@pytest.mark.parametrize(
    "query", ['"', "' OR 1", "NEAR(a b)", "a* AND (", "name:x", "\x00", "🧩", "x" * 100_000, "-"]
)
def test_no_query_breaks_the_search(search, query):
    assert isinstance(found(search, query), list)


def test_nothing_is_found_where_nothing_fits(search):
    assert found(search, "zebra quantum") == []
    assert found(search, "") == []
    assert found(search, "invoice", limit=0) == []


def test_what_is_not_allowed_is_never_shown(search):
    assert found(search, "create invoice", allowed=lambda tool: False) == []
    only = found(search, "invoice", limit=1, allowed=lambda t: t.spec.name == "listInvoices")
    assert only == ["listInvoices"]
    by_name = found(search, "file_read", allowed=lambda tool: tool.spec.name != "file_read")
    assert "file_read" not in by_name


def test_the_limit_is_reached_however_many_are_not_allowed(plain, tmp_path):
    tools = tuple(plain(f"mail_{n}", description="Send mail.") for n in range(200))
    search = ToolSearch(tmp_path)
    search.adopt(search.build(tools))
    allowed = {f"mail_{n}" for n in range(150, 160)}
    names = found(search, "mail", limit=5, allowed=lambda tool: tool.spec.name in allowed)
    assert len(names) == 5
    search.close()


def test_the_index_is_kept_and_made_again_only_for_another_catalogue(tmp_path, catalogue, plain):
    def files():
        return {place.name: place.stat().st_mtime_ns for place in tmp_path.iterdir()}

    search = ToolSearch(tmp_path)
    search.adopt(search.build(catalogue))
    first = files()
    again = ToolSearch(tmp_path)
    again.adopt(again.build(tuple(catalogue)))
    assert files() == first
    again.adopt(again.build((*catalogue, plain("new"))))
    assert len(files()) == 2
    assert found(again, "new")[0] == "new"
    search.close()
    again.close()


def test_only_a_few_indexes_are_kept(tmp_path, plain):
    search = ToolSearch(tmp_path)
    for number in range(8):
        search.adopt(search.build((plain(f"tool_{number}"),)))
    assert len(list(tmp_path.iterdir())) == 4
    search.close()


@pytest.mark.parametrize("damage", [b"", b"garbage" * 100, None])
def test_a_damaged_index_is_made_again(tmp_path, catalogue, damage):
    search = ToolSearch(tmp_path)
    search.adopt(search.build(catalogue))
    search.close()
    (place,) = tmp_path.iterdir()
    place.write_bytes(place.read_bytes()[:5000] if damage is None else damage)
    search.adopt(search.build(catalogue))
    assert found(search, "create invoice")[0] == "create_invoice"
    search.close()


def test_an_index_that_is_damaged_while_open_is_replaced(tmp_path, catalogue):
    search = ToolSearch(tmp_path)
    search.adopt(search.build(catalogue))
    search._built.ranking.close()  # what a query then raises is what a damaged page raises
    assert found(search, "create invoice")[0] == "create_invoice"
    search.close()


def test_a_locked_database_is_no_obstacle(tmp_path, catalogue):
    search = ToolSearch(tmp_path)
    search.adopt(search.build(catalogue))
    search.close()
    (place,) = tmp_path.iterdir()
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    search.adopt(search.build(catalogue))
    assert found(search, "create invoice")[0] == "create_invoice"
    search.close()
    other.close()


def test_without_a_folder_to_write_to_the_index_is_in_memory(tmp_path, catalogue):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    search = ToolSearch(blocked / "index")
    search.adopt(search.build(catalogue))
    assert found(search, "create invoice")[0] == "create_invoice"
    search.close()


def test_the_hash_changes_with_anything_that_is_searched(catalogue, plain):
    base = catalogue_hash(map(document, catalogue))
    assert base == catalogue_hash(map(document, catalogue))
    assert base != catalogue_hash(map(document, catalogue[:-1]))
    changed = plain("file_read", "files", description="Read a text file!", category="file")
    assert base != catalogue_hash(map(document, (*catalogue[:-1], changed)))


def test_names_are_split_into_words():
    assert words("getHTTPStatus_code v2") == ["get", "http", "status", "code", "v2"]
    assert query_words("please read the file and the file") == ["read", "file"]
    assert query_words("what is it") == ["what", "is", "it"]
    assert len(query_words(" ".join(f"w{n}" for n in range(100)))) == 24


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file", "files"),
        ("query", "queries"),
        ("read", "reading"),
        ("box", "boxes"),
        ("create", "creating"),
        ("list", "listed"),
        ("as", "as"),
    ],
)
def test_words_are_compared_without_their_endings(one, other):
    assert stem(one) == stem(other)


def test_an_empty_catalogue_finds_nothing():
    assert PlainIndex([]).ranked(["a"], 5) == []
