"""Lets the agent look at conversations: those of whoever it is talking with, and no others."""

from __future__ import annotations

from pegboard import Needs, Plugin
from pegboard_sessions.tools.session_history import session_history
from pegboard_sessions.tools.session_search import session_search
from pegboard_sessions.tools.session_status import session_status
from pegboard_sessions.tools.sessions_list import sessions_list

plugin = Plugin(
    summary="Tools for past conversations: list, read, search, status; one's own only.",
    needs=Needs(services=("sessions",)),
)
plugin.add_tools(session_history, session_search, session_status, sessions_list)
