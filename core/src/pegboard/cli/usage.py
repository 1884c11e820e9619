"""`pegboard usage`: what models were asked, and what it cost."""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import TYPE_CHECKING, Final

import click

from pegboard.cli.output import WARN
from pegboard.cli.session import Session, json_option
from pegboard.cli.stored import reading
from pegboard.cli.usage_sums import BY, sums, total
from pegboard.contracts.errors import UsageError
from pegboard.providers.prices import Prices, has_prices

if TYPE_CHECKING:
    from pegboard.contracts.spending import Spending

_AGO: Final = re.compile(r"(\d{1,6})([hdw])\Z")
_SECONDS: Final = {"h": 3_600, "d": 86_400, "w": 7 * 86_400}


@click.command("usage")
@click.option(
    "--by", type=click.Choice(list(BY)), default="day", show_default=True, help="What to sum up by."
)
@click.option(
    "--since", metavar="TIME", default="30d", show_default=True, help="12h, 7d, 4w or 2026-11-01."
)
@json_option
@click.pass_obj
def command(session: Session, by: str, since: str) -> None:
    """Show what models were asked, and what it cost.

    A cost is what was known when the model was asked; where nothing was, what is known now. What is
    not known is said, and is in no sum.
    """
    start = since_time(since, time.time())
    spent = _spent(session, start)
    config = session.config
    prices = Prices.from_settings(config.section("models"), config.section("providers"))
    found, whole = sums(spent, by, prices.known), total(spent, prices.known)
    if session.output.json_wanted:
        rows = [item.to_dict() for item in found]
        session.output.json({"by": by, "since": start, "usage": rows, "total": whole.to_dict()})
        return
    if not found:
        session.output.line(f"No model was asked since {_day(start)}.")
        return
    session.output.table(
        [by.upper(), "REQUESTS", "READ", "CACHED", "WRITTEN", "COST"],
        [
            (
                item.name,
                f"{item.requests:,}",
                f"{item.input:,}",
                f"{item.cached:,}",
                f"{item.output:,}",
                item.cost_text(),
            )
            for item in (*found, whole)
        ],
        right=frozenset({1, 2, 3, 4, 5}),
    )
    if whole.unpriced and not has_prices():
        session.output.note(
            "The vendors' prices are not installed: pip install 'pegboard[cost]'", WARN
        )


def since_time(text: str, now: float) -> float:
    """Return a time in seconds since the epoch.

    Args:
        text: `12h`, `7d`, `4w`, or a date.
        now: Seconds since the epoch.

    Raises:
        UsageError: When it is neither.
    """
    ago = _AGO.match(text.strip())
    if ago is not None:
        return now - int(ago[1]) * _SECONDS[ago[2]]
    try:
        return datetime.fromisoformat(text.strip()).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{text!r} is no time.", fix="pegboard usage --since 7d") from None


def _spent(session: Session, start: float) -> list[Spending]:
    from pegboard.store import spending_rows
    from pegboard.store.migrations import MIGRATIONS, version_of

    with reading(session) as connection:
        if connection is None or version_of(connection) < MIGRATIONS[-1].version:
            return []  # nothing was written, or nothing since the last update
        return spending_rows.since(connection, start, {})


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
