from __future__ import annotations

from pegboard.testing import PluginContract, ToolContract

NOT_THERE = ({"session": "ffffffff"}, "not_found")


class TestPlugin(PluginContract):
    plugin = "sessions"


class TestList(ToolContract):
    tool = "sessions:sessions_list"
    needs = ("sandbox-local",)
    works = ({}, {"limit": 3})
    fails = (({"limit": 0}, "invalid_arguments"),)


class TestSearch(ToolContract):
    tool = "sessions:session_search"
    needs = ("sandbox-local",)
    works = ({"query": "boat"}, {"query": '"C++ AND ('})
    fails = (
        ({"query": ""}, "invalid_arguments"),
        ({"query": "boat", "session": "ffffffff"}, "not_found"),
    )


class TestStatus(ToolContract):
    tool = "sessions:session_status"
    needs = ("sandbox-local",)
    works = (NOT_THERE[0],)
    fails = (NOT_THERE, ({}, "not_found"))
    test_it_works = None  # a call by itself is part of no conversation: see test_sessions.py


class TestHistory(ToolContract):
    tool = "sessions:session_history"
    needs = ("sandbox-local",)
    works = (NOT_THERE[0],)
    fails = (NOT_THERE, ({}, "not_found"), ({"before": 0}, "invalid_arguments"))
    test_it_works = None
