"""The laws of a backend: a store, an engine on it, and its archive."""

from __future__ import annotations

from pegboard.testing.contracts.backend_archive import ArchiveLaws
from pegboard.testing.contracts.backend_calls import CallLaws
from pegboard.testing.contracts.backend_engine import ClosingLaws, DeliveryLaws, FairnessLaws
from pegboard.testing.contracts.backend_engine_waits import WaitingLaws
from pegboard.testing.contracts.backend_history import (
    ConversationLaws,
    SpendingLaws,
    TranscriptLaws,
)
from pegboard.testing.contracts.backend_processes import DeathLaws
from pegboard.testing.contracts.backend_replies import ApprovalLaws, OutboxLaws
from pegboard.testing.contracts.backend_turns import BeginLaws, IngestLaws
from pegboard.testing.contracts.backend_waits import StopLaws, WaitLaws


class BackendContract(
    IngestLaws,
    BeginLaws,
    WaitLaws,
    StopLaws,
    CallLaws,
    OutboxLaws,
    ApprovalLaws,
    TranscriptLaws,
    ConversationLaws,
    SpendingLaws,
    ArchiveLaws,
    DeliveryLaws,
    WaitingLaws,
    FairnessLaws,
    ClosingLaws,
    DeathLaws,
):
    """Laws that a host relies on so that no message is lost and no call is made twice.

    Subclass it and define `make_backend`. The laws open several backends on one folder, as hosts
    that share their truth do, and kill processes that work on it.
    """
