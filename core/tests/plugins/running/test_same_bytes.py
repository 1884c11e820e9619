"""One manifest, byte for byte, whichever pydantic and Python build it.

The file beside this one was written once. CI compares it on every supported Python; the oldest and
the newest pydantic give the same.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Optional

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from pegboard import Arg, tool
from pegboard.plugins.building.tool_schema import build_spec
from pegboard.plugins.declaration import TOOL_MARK

if TYPE_CHECKING:
    from pegboard import ToolContext

GOLDEN = Path(__file__).with_name("everything.json")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class One(enum.Enum):
    X = "x"


class Number(enum.IntEnum):
    A = 1
    B = 2


class Item(TypedDict):
    """An item."""

    name: Annotated[str, Arg("Its name")]
    size: NotRequired[int]


@dataclasses.dataclass
class Point:
    x: int
    y: float = 1.0


@dataclasses.dataclass
class Line:
    """From here to there."""

    start: Point
    end: Optional[Point] = None  # noqa: UP045


class Node(BaseModel):
    """A node
    of a tree."""

    value: int = Field(ge=0, description="value")
    color: Color = Color.RED
    tags: list[str] = []
    children: list[Node] = []
    point: Point | None = None


class Loose(BaseModel, extra="allow"):
    a: int


@tool
async def everything(
    ctx: ToolContext,
    text: str,
    count: Annotated[int, Arg("How many", ge=1, le=5)],
    ratio: float,
    flag: bool,
    anything: Any,
    one_word: Literal["a"],
    words: Literal["a", 1, None],
    names: list[str],
    bare: dict,
    numbers: dict[str, int],
    item: Item,
    items: list[Item],
    color: Color,
    one: One,
    number: Number,
    node: Node,
    point: Point,
    line: Annotated[Line, Arg("The line")],
    path: Annotated[Path, Arg(access="read")],
    loose: Loose,
    pair: tuple[int, str],
    unique: set[int],
    data: bytes,
    either: int | str | None,
    maybe: Optional[int] = None,  # noqa: UP045
    some: Annotated[list[str] | None, Arg(min_length=1)] = None,
    where: Path = Path("x"),
    shade: Color = Color.BLUE,
    schema: str = "\u00e9",
    model_config: int = 3,
    spot: Annotated[Point | None, Arg("Where")] = None,
    thing: Item = {"name": "a"},  # noqa: B006
    origin: Point = Point(1),  # noqa: B008
) -> str:
    """Do it all.

    More.

    Args:
        text: The text
            goes on.
        ratio, flag: Both.

    Returns:
        Nothing.

    Example:
        kept
    """
    return ""


def test_every_pydantic_and_python_give_the_same_bytes():
    spec = build_spec(everything, getattr(everything, TOOL_MARK))
    made = json.dumps(spec.to_dict(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert made == GOLDEN.read_text(encoding="utf-8")
