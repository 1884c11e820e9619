"""Many things at once, in an order that chance decides: nothing hangs, leaks or ends in between."""

from __future__ import annotations

import random
import sys
import threading
from contextlib import suppress

import anyio
import pytest

from pegboard.contracts.errors import PluginError
from pegboard.plugins.decision.failures import FailureStore

pytestmark = pytest.mark.anyio

KINDS = {
    "plain": "plugin = Plugin()",
    "slow": "import time; time.sleep(0.03)\nplugin = Plugin()",
    "lived": """
import anyio
plugin = Plugin()
LOG = []
@plugin.lifespan
async def lifespan(context):
    await anyio.sleep(0.01)
    LOG.append(1)
    try:
        yield
        await anyio.sleep(0.01)
    finally:
        LOG.append(-1)
""",
    "served": """
import anyio
plugin = Plugin()
@plugin.background("work", restart="always")
async def work(context):
    await anyio.sleep(0.01)
    raise ValueError("again")
""",
    "offers": """
plugin = Plugin()
plugin.service("index")(lambda context: object())
""",
    "needs": """
plugin = Plugin(needs=Needs(services=("index",)))
@plugin.lifespan
async def lifespan(context):
    yield context.service("index")
""",
    "falls": """
import anyio
plugin = Plugin()
@plugin.lifespan
async def lifespan(context):
    async with anyio.create_task_group() as group:
        async def fall():
            await anyio.sleep(0.02)
            raise ValueError("fallen")
        group.start_soon(fall)
        yield
""",
}
BROKEN = {
    "raises": "1 / 0",
    "leaves": "raise SystemExit",
    "differs": "plugin = Plugin(config='a:B')",
}


@pytest.mark.parametrize("seed", range(8))
async def test_a_storm(environment, seed):
    chance = random.Random(seed)
    for name, code in {**KINDS, **dict.fromkeys(BROKEN, "plugin = Plugin()")}.items():
        environment.add(name, code, manifest=name != "slow")
    for name, code in BROKEN.items():
        environment.rewrite(name, code)
    threads = threading.active_count()
    with anyio.fail_after(60):
        async with environment.activator() as activator:
            await activator.build_unmanifested()
            with anyio.move_on_after(chance.choice([0.1, 0.3, 30])) as scope:
                await storm(environment, activator, [*KINDS, *BROKEN], chance)
            if not scope.cancelled_caught:
                environment.config["plugins"]["disabled"] = []
                await activator.adopt(environment.boot())
                for name in ("plain", "slow", "lived", "served", "offers", "needs"):
                    assert (await activator.activate(name)).id == name
    lived = sys.modules.get("lived_pkg.plugin")
    assert lived is None or sum(lived.LOG) == 0
    with anyio.fail_after(5):  # an import that was left alone comes to its end
        while threading.active_count() > threads:
            await anyio.sleep(0.01)
    assert not list(environment.paths.plugin_failures.glob("*.importing.json"))
    assert set(FailureStore(environment.paths).read()) <= {*BROKEN, "falls"}


async def storm(environment, activator, names: list[str], chance: random.Random) -> None:
    async def ask() -> None:
        name = chance.choice(names)
        with anyio.move_on_after(chance.choice([0.005, 0.05, 5])), suppress(PluginError):
            assert (await activator.activate(name)).id == name

    async with anyio.create_task_group() as group:
        for _ in range(60):
            if chance.random() < 0.15:
                disabled = chance.sample(names, chance.randint(0, 4))
                environment.config["plugins"]["disabled"] = disabled
                group.start_soon(activator.adopt, environment.boot())
            else:
                group.start_soon(ask)
            await anyio.sleep(chance.choice([0, 0, 0.002, 0.02]))
            activator.background()
            assert len(activator.records) == len(names)
