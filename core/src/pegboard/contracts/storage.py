"""What a plugin keeps: JSON documents, and tables of its own. It never sees the host's store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from pegboard.contracts.errors import StoreError

T = TypeVar("T")
Row = tuple[Any, ...]
Parameters = Sequence[Any] | Mapping[str, Any]
Place = tuple[str, str]
"""Collection and key of a document."""


class ConstraintError(StoreError):
    """A statement broke a rule of the table: a value was there already, is missing, or is wrong."""

    code = "storage_constraint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A JSON value that a plugin keeps.

    Args:
        key: Its key; unique in its collection.
        value: What it holds.
        updated_at: When it was last written, in seconds since the epoch.
    """

    key: str
    value: Any
    updated_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose something is that a plugin keeps: it goes when that is erased.

    A tool finds it as `ctx.call.owner`. What names no turn is the whole conversation's: it goes as
    well when a person is erased who had said something there, since it may tell of that.

    Args:
        conversation: Key of a conversation, or "".
        turn: Id of a turn, or ""; also of what was done for that turn by a child run.
        person: Normalised sender id (`channel:id`), or "".
    """

    conversation: str = ""
    turn: str = ""
    person: str = ""

    def lasting(self) -> Owner:
        """Return the conversation alone, for what outlives the turn that wrote it."""
        return Owner(conversation=self.conversation)


NOBODY: Final = Owner()


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseSql:
    """SQL that erases rows of a plugin's tables; `:name` stands for what was erased.

    The host keeps it beside the tables and runs it itself, also when the plugin is uninstalled or
    broken by then. It may be run again for the same name.

    Args:
        conversation: Run when a conversation was erased, with its key.
        turn: Run for each turn that was erased, with its id.
        person: Run when a person was erased, with their sender id.
        thinned: Run when turns of an erased person went out of a conversation that stays, with its
            key.
    """

    conversation: Sequence[str] = ()
    turn: Sequence[str] = ()
    person: Sequence[str] = ()
    thinned: Sequence[str] = ()


class Statements(Protocol):
    """SQL inside one transaction."""

    def execute(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        """Run one statement and return its rows; also those of `RETURNING`.

        Raises:
            ConstraintError: When it breaks a rule of the table.
            StoreError: When it can't be run, or is not for plugins (`BEGIN`, `ATTACH`, `PRAGMA`).
        """
        ...


class Tables(Protocol):
    """A plugin's own tables, in a SQLite file of its own on this machine."""

    async def query(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        """Read: run one statement that changes nothing and return its rows.

        It sees what was written before it began, and waits for no one who writes.
        """
        ...

    async def execute(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        """Write: run one statement, and return its rows once it is on the disk."""
        ...

    async def transaction(self, work: Callable[[Statements], T]) -> T:
        """Run several statements as one step, and return what `work` returns.

        `work` runs in another thread and may be called twice; what it had written is undone when it
        raises.
        """
        ...


class Storage(Protocol):
    """What a plugin keeps for good: through restarts, updates and its being uninstalled.

    Documents are JSON values in named collections. Each call is one transaction: when it returns,
    what it wrote is on the disk. Only `pegboard plugins uninstall --purge` erases it all; what has
    an owner goes with that.
    """

    async def get(self, collection: str, key: str, default: Any = None) -> Any:
        """Return the value of a document, or `default` when there is none."""
        ...

    async def put(self, collection: str, key: str, value: Any, *, of: Owner | None = None) -> None:
        """Keep a JSON value; one that was there is replaced.

        Args:
            collection: Its collection.
            key: Its key.
            value: What it holds.
            of: Whose it is; None = whose it was, and a new one is nobody's.

        Raises:
            StoreError: When the value is no JSON, the key is no name, or the disk refuses.
        """
        ...

    async def update(
        self,
        collection: str,
        key: str,
        change: Callable[[Any], Any],
        default: Any = None,
        *,
        of: Owner | None = None,
    ) -> Any:
        """Replace a value by what `change` makes of it, as one step, and return the new one.

        `of` counts as for `put`. `change` runs in another thread and may be called twice; it is
        given `default` when there is no value.
        """
        ...

    async def delete(self, collection: str, key: str) -> bool:
        """Remove a document; False when there is none."""
        ...

    async def list(
        self, collection: str, *, prefix: str = "", after: str = "", limit: int | None = None
    ) -> Sequence[Document]:
        """Return the documents of a collection, sorted by key.

        Args:
            collection: Its name.
            prefix: What the keys begin with.
            after: Only keys behind this one: the last of the page before.
            limit: How many at most; None = all.
        """
        ...

    async def write(
        self,
        put: Mapping[Place, Any],
        delete: Sequence[Place] = (),
        *,
        of: Owner | None = None,
    ) -> None:
        """Put and delete several documents, of any collections, as one step.

        `of` counts as for `put`, for all that are put.

        Raises:
            StoreError: When that can't be done; nothing was changed then.
        """
        ...

    async def tables(
        self, migrations: Sequence[Sequence[str]], *, erase: EraseSql | None = None
    ) -> Tables:
        """Open the plugin's own tables, and bring them to the newest form.

        Args:
            migrations: The steps by which they came about, each the SQL statements of one
                transaction. A step that was released never changes; what is new is a further one.
            erase: How rows go whose conversation, turn or person is erased; None = as it was said
                the last time.

        Raises:
            StoreError: When a step fails, a newer version of the plugin has written them, they
                were opened with other steps, or `erase` is no SQL for them.
        """
        ...
