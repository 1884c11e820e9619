"""Every condition of a module, taken out or turned round, one at a time.

A condition is an `if`, `elif`, `while` or ternary; an operand of `and`, `or`, `&`, `|` and `-`; a
comparison; a `not`; the `if` of a comprehension; the guard of a `case`. An early return is an `if`.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType
from typing import NamedTuple

TURNED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    # the other side, and the same side with or without the border itself
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
}
SET_OPERATORS = (ast.BitAnd, ast.BitOr, ast.Sub)


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Args:
        path: The module's file.
        place: Class and function that it is in, or "<module>".
        line: Line in the file.
        before: The expression as it is.
        after: The expression as it becomes.
        compiled: Returns the code of the changed module.
    """

    path: Path
    place: str
    line: int
    before: str
    after: str
    compiled: Callable[[], CodeType]

    @property
    def key(self) -> str:
        """What names it although lines move."""
        return f"{self.path.stem}:{self.place}: {self.before} -> {self.after}"

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line} in {self.place}: {self.before}  ->  {self.after}"


def mutants(path: Path) -> list[Mutant]:
    """Return every mutant of a module, each change once."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    found: dict[tuple[int, str], Mutant] = {}
    for number, (place, node, slot) in enumerate(_conditions(tree)):
        statement = _statement(tree, node)
        whole = ast.unparse(tree.body[statement])
        for choice, replacement in enumerate(_replacements(node)):
            slot.put(replacement)
            changed = ast.unparse(tree.body[statement])
            slot.put(node)
            if changed == whole or (statement, changed) in found:
                continue
            found[statement, changed] = Mutant(
                path=path,
                place=place,
                line=node.lineno,
                before=ast.unparse(node),
                after=ast.unparse(replacement),
                compiled=partial(_compiled, source, path, number, choice),
            )
    return list(found.values())


def _statement(tree: ast.Module, node: ast.expr) -> int:
    """Return the place of the top-level statement that holds an expression."""
    return max(place for place, item in enumerate(tree.body) if item.lineno <= node.lineno)


def _compiled(source: str, path: Path, number: int, choice: int) -> CodeType:
    tree = ast.parse(source)
    _, node, slot = list(_conditions(tree))[number]
    slot.put(ast.copy_location(_replacements(node)[choice], node))
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


class Slot(NamedTuple):
    """Where an expression stands in its parent.

    Args:
        parent: What it is a part of.
        name: The parent's field.
        index: Its place, when the field is a list.
    """

    parent: ast.AST
    name: str
    index: int | None

    def put(self, node: ast.AST) -> None:
        """Put an expression there."""
        if self.index is None:
            setattr(self.parent, self.name, node)
        else:
            getattr(self.parent, self.name)[self.index] = node


def _conditions(tree: ast.Module) -> Iterator[tuple[str, ast.expr, Slot]]:
    """Yield each expression that is or holds a condition, and where it is; in one order."""
    yield from list(_within(tree, "<module>"))


def _within(node: ast.AST, place: str) -> Iterator[tuple[str, ast.expr, Slot]]:
    for child, slot in _evaluated(node):
        inner = place
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = child.name if place == "<module>" else f"{place}.{child.name}"
        if isinstance(child, ast.expr):
            child.is_test = _is_test(child, node)  # type: ignore[attr-defined]
            if _replacements(child):
                yield place, child, slot
        yield from _within(child, inner)


def _evaluated(node: ast.AST) -> Iterator[tuple[ast.AST, Slot]]:
    """Yield the children that run: neither annotations nor the insides of `Callable[...]`."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns") or (
            isinstance(node, ast.Subscript) and name == "slice" and _is_type(node.value)
        ):
            continue
        if isinstance(value, ast.AST):
            yield value, Slot(node, name, None)
        elif isinstance(value, list):
            for index, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield child, Slot(node, name, index)


def _is_type(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id[:1].isupper()


def _is_union(node: ast.expr) -> bool:
    """Tell whether an expression is a type: `str | list[str] | None`, which nothing runs."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _is_union(node.left) and _is_union(node.right)
    if isinstance(node, ast.Subscript):
        return _is_union(node.value)
    if isinstance(node, ast.Name):
        return isinstance(getattr(builtins, node.id, None), type) or (
            _is_type(node) and not node.id.isupper()
        )
    return isinstance(node, ast.Constant) and node.value is None


def _is_test(node: ast.expr, parent: ast.AST) -> bool:
    if isinstance(parent, ast.If | ast.While | ast.IfExp):
        return node is parent.test
    if isinstance(parent, ast.comprehension):
        return node in parent.ifs
    return isinstance(parent, ast.match_case) and node is parent.guard


def _replacements(node: ast.expr) -> list[ast.expr]:
    """Return what an expression is replaced by, one after the other."""
    found: list[ast.expr] = []
    if getattr(node, "is_test", False):
        found += [ast.Constant(True), ast.Constant(False), ast.UnaryOp(ast.Not(), _copy(node))]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        found.append(_copy(node.operand))
    elif isinstance(node, ast.BoolOp):
        for left_out in range(len(node.values)):
            kept = [_copy(item) for place, item in enumerate(node.values) if place != left_out]
            found.append(kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, SET_OPERATORS) and not _is_union(node):
        found.append(_copy(node.left))
        if not isinstance(node.op, ast.Sub):
            found.append(_copy(node.right))
    elif isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for turned in TURNED[type(operator)]:
                other = _copy(node)
                assert isinstance(other, ast.Compare)
                other.ops[place] = turned()
                found.append(other)
    return found


def _copy(node: ast.expr) -> ast.expr:
    return copy.deepcopy(node)
