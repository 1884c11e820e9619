"""The counterparts as fixtures: each is started at its first use and serves the whole session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from counterparts.chaos import Chaos
from counterparts.journal import Journal
from counterparts.llama import Llama
from counterparts.places import no_aimock, no_llama, no_llmock


@pytest.fixture(scope="session")
def chaos_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chaos]:
    _skip(no_llmock())
    with closing(Chaos(tmp_path_factory.mktemp("llmock") / "log")) as server:
        yield server


@pytest.fixture
def chaos(chaos_server: Chaos) -> Chaos:
    """llmock, which behaves well until it is told otherwise."""
    chaos_server.reset()
    return chaos_server


@pytest.fixture
def chaos_with(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Chaos]]:
    """Start an llmock with options of its own: `chaos_with("--rpm", "1")`."""
    _skip(no_llmock())
    with ExitStack() as opened:

        def start(*options: str) -> Chaos:
            log = tmp_path_factory.mktemp("llmock") / "log"
            return opened.enter_context(closing(Chaos(log, *options)))

        yield start


@pytest.fixture(scope="session")
def journal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journal]:
    _skip(no_aimock())
    with closing(Journal(tmp_path_factory.mktemp("aimock"))) as server:
        yield server


@pytest.fixture
def journal(journal_server: Journal) -> Journal:
    """aimock without any answer, and with an empty journal."""
    journal_server.answer()
    return journal_server


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    _skip(no_llama())
    with closing(Llama(tmp_path_factory.mktemp("llama") / "log")) as server:
        yield server


@pytest.fixture
def llama(llama_server: Llama) -> Llama:
    """llama.cpp's server with a real model of 135M, two slots, no key; idle at first."""
    llama_server.settle()
    return llama_server


def _skip(reason: str | None) -> None:
    if reason is not None:
        pytest.skip(reason)
