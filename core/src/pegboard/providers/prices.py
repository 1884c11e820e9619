"""What a model call costs. Unknown is None, never 0."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pegboard.contracts.spending import Spending
from pegboard.providers.model_settings import MILLION, ModelTable, Price

Source = Literal["settings", "free", "genai-prices", "unknown"]
PACKAGE: Final = "genai-prices"
_FREE: Final = frozenset({"offline", "local", "scripted"})
"""Types whose models run on this machine, or are none."""
_VENDORS: Final = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
_SERVERS: Final = frozenset({"openai", "deepseek", "groq", "mistral", "openrouter"})
_OWN_SERVERS: Final = frozenset({"llamacpp", "lmstudio", "ollama", "vllm"})
"""Servers that people run themselves; at an address of this machine their models have no bill."""
_RELAYED: Final = (":cloud", "-cloud")
"""How names of models end that Ollama asks its vendor for: `gpt-oss:120b-cloud`."""
_KNOWN_AT: Final = 1_000
_log = logging.getLogger(__name__)


def has_prices() -> bool:
    """Return True when the package with the vendors' prices is installed."""
    return find_spec("genai_prices") is not None


@dataclass(frozen=True, slots=True)
class _Vendor:
    """Who sells the models of a provider: an id of genai-prices, else an address, else nobody."""

    id: str | None = None
    url: str | None = None


class Prices:
    """Prices of models, by the instance of the provider that is asked.

    The operator's word counts first, then that a model on this machine costs nothing, then the
    table of the package genai-prices, which holds the vendors' list prices.

    Args:
        table: What the operator says of models.
        providers: The section `[providers]`, which says what an instance is.
    """

    def __init__(self, table: ModelTable, providers: Mapping[str, Any]) -> None:
        self._table = table
        self._providers = providers

    @classmethod
    def from_settings(cls, models: Mapping[str, Any], providers: Mapping[str, Any]) -> Prices:
        """Return the prices by the sections `[models]` and `[providers]`."""
        return cls(ModelTable(models), providers)

    def cost(
        self, provider: str, model: str, *, input: int, output: int, cached: int = 0, wrote: int = 0
    ) -> float | None:
        """Return what a request costs in US dollars, or None.

        Args:
            provider: Name of the instance.
            model: The model.
            input: Tokens that it read, those of a cache included.
            output: Tokens that it wrote.
            cached: Those of the input that came from a cache.
            wrote: Those of the input that were written to a cache.
        """
        said, _ = self._table.price(provider, model)
        if said is not None:
            return said.cost(input, output, cached)
        if self._is_free(provider, model):
            return 0.0
        return self._listed(provider, model, input, output, cached, wrote)

    def known(self, spending: Spending) -> float | None:
        """Return what a model call cost: as it was recorded, else by what is known today."""
        if spending.cost is not None:
            return spending.cost
        return self.cost(
            spending.provider,
            spending.model,
            input=spending.input,
            output=spending.output,
            cached=spending.cached,
        )

    def asked(self, provider: str, model: str) -> str:
        """Return the model that a request names: itself or by the settings; "" = the provider does.

        Args:
            provider: Name of the instance.
            model: The model of the request, or "".
        """
        return model or str(self._said(provider).get("model", ""))

    def is_unknown(self, provider: str, model: str) -> bool:
        """Tell whether nobody says what a model costs."""
        return self.price(provider, model)[0] is None

    def may_be_free(self, provider: str) -> bool:
        """Tell whether a provider asks a server of this machine that may run its models itself.

        What kind of server it is nobody says: it may pass requests on to one who sends a bill.
        """
        said = self._said(provider)
        if self._type(provider) != "openai-compatible" or said.get("server", "other") != "other":
            return False
        return is_here(str(said.get("base_url", "")))

    def price(self, provider: str, model: str) -> tuple[Price | None, Source]:
        """Return what a short request pays for a million tokens, and who says so."""
        said, _ = self._table.price(provider, model)
        if said is not None:
            return said, "settings"
        if self._is_free(provider, model):
            return Price(input=0.0, output=0.0, cached=0.0), "free"
        times = MILLION / _KNOWN_AT  # some prices rise with the length of the request
        reads = self._listed(provider, model, _KNOWN_AT, 0, 0, 0)
        writes = self._listed(provider, model, 0, _KNOWN_AT, 0, 0)
        again = self._listed(provider, model, _KNOWN_AT, 0, _KNOWN_AT, 0)
        if reads is None or writes is None:
            return None, "unknown"
        cached = None if again is None else again * times
        return Price(input=reads * times, output=writes * times, cached=cached), PACKAGE

    def _listed(
        self, provider: str, model: str, input: int, output: int, cached: int, wrote: int
    ) -> float | None:
        vendor = self._vendor(provider)
        if vendor is None or not model or not has_prices():
            return None
        from genai_prices import Usage, calc_price

        usage = Usage(
            input_tokens=input,
            output_tokens=output,
            cache_read_tokens=cached or None,
            cache_write_tokens=wrote or None,
        )
        seller = {"provider_id": vendor.id} if vendor.id else {"provider_api_url": vendor.url}
        try:
            found = calc_price(usage, model, **seller).total_price
        except (LookupError, ValueError, ArithmeticError) as error:
            _log.debug("no price of %s at %s: %s", model, provider, error)
            return None
        return float(found)

    def _is_free(self, provider: str, model: str) -> bool:
        """Tell whether a model runs on this machine, or is none."""
        type, said = self._type(provider), self._said(provider)
        if type in _FREE:
            return True
        server, url = said.get("server"), str(said.get("base_url", ""))
        if type != "openai-compatible" or server not in _OWN_SERVERS:
            return False
        if server == "ollama" and (not model or model.lower().endswith(_RELAYED)):
            return False
        return not url or is_here(url)

    def _vendor(self, provider: str) -> _Vendor | None:
        type = self._type(provider)
        if type in _VENDORS:
            return _Vendor(id=_VENDORS[type])
        said = self._said(provider)
        server, url = str(said.get("server", "")), str(said.get("base_url", ""))
        if type != "openai-compatible" or not (url or server in _SERVERS):
            return None  # who sells it is not known, and another's price would be a guess
        return _Vendor(url=url) if url else _Vendor(id=server)

    def _type(self, provider: str) -> str:
        return str(self._said(provider).get("type", provider)).rpartition(":")[2]

    def _said(self, provider: str) -> Mapping[str, Any]:
        said = self._providers.get(provider)
        return said if isinstance(said, Mapping) else {}


def is_here(url: str) -> bool:
    """Tell whether an address is this machine's own; one that is none is not."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or host.endswith(".localhost") or ip_address(host).is_loopback
    except ValueError:
        return False
