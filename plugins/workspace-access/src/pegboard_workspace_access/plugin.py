"""Lets the agent ask its owner for access to a folder outside of the workspace."""

from __future__ import annotations

from pegboard import Plugin
from pegboard_workspace_access.tools import request_directory_access

plugin = Plugin(summary="Asks the owner for access to a folder outside of the workspace.")
plugin.add_tools(request_directory_access)
