"""llmock breaks its answers, the host goes on, and llmock judges what the client did."""

from __future__ import annotations

import pytest
from counterparts.on_llmock import Make, OnLlmock

pytestmark = pytest.mark.anyio


class TestGenerate(OnLlmock):
    model = "gemini-2.5-pro"
    base = "/gemini"
    path = f"/gemini/v1beta/models/{model}:streamGenerateContent"
    silent = 0
    midway = 2

    @pytest.fixture
    def make(self, gemini: Make) -> Make:
        return gemini
