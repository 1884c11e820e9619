"""Lets the agent say which model it asks, and ask its owner for another one."""

from __future__ import annotations

from pegboard import Needs, Plugin
from pegboard_routing.tools import model_routing_config

plugin = Plugin(
    summary="Shows which model the agent asks, and changes it once the owner agrees.",
    needs=Needs(services=("routing",)),
)
plugin.add_tools(model_routing_config)
