from __future__ import annotations

import pytest

from pegboard.contracts.errors import BuildError, PluginError

pytestmark = pytest.mark.anyio

PLAIN = "plugin = Plugin(summary='Looks')\n"
NEEDING = "plugin = Plugin(summary='Looks', needs=Needs(services=('sessions',)))\n"


class Sessions:
    """What a host offers."""


async def test_a_plugin_that_declares_the_need_gets_what_the_host_offers(environment) -> None:
    environment.add("looker", NEEDING)
    made: list[Sessions] = []

    def make() -> Sessions:
        made.append(Sessions())
        return made[-1]

    async with environment.activator(services={"sessions": make}) as activator:
        context = (await activator.activate("looker")).context
        assert context.service("sessions") is made[0]
        assert context.service("sessions") is made[0]
    assert len(made) == 1


async def test_a_plugin_that_does_not_declare_it_is_told_how_to(environment) -> None:
    environment.add("looker", PLAIN)
    async with environment.activator(services={"sessions": Sessions}) as activator:
        context = (await activator.activate("looker")).context
        with pytest.raises(PluginError, match="its manifest does not list") as refused:
            context.service("sessions")
    assert refused.value.fix == (
        "declare it, Needs(services=['sessions']), then `pegboard plugins build`"
    )


async def test_the_need_of_it_never_keeps_a_plugin_from_being_used(environment) -> None:
    environment.add("looker", NEEDING)
    record = environment.boot().record("looker")
    assert record.usable
    async with environment.activator() as activator:
        context = (await activator.activate("looker")).context
        with pytest.raises(PluginError, match="this host does not offer the service sessions"):
            context.service("sessions")


async def test_a_service_of_the_host_that_breaks_down_is_named(environment) -> None:
    environment.add("looker", NEEDING)

    def broken() -> Sessions:
        raise RuntimeError("no store")

    async with environment.activator(services={"sessions": broken}) as activator:
        context = (await activator.activate("looker")).context
        with pytest.raises(PluginError, match="the host can't make its service sessions"):
            context.service("sessions")


async def test_no_plugin_can_offer_what_is_the_hosts(environment) -> None:
    offers = PLAIN + "plugin.service('sessions')(lambda context: object())\n"
    with pytest.raises(BuildError, match="the host itself offers a service sessions"):
        environment.add("rival", offers)
