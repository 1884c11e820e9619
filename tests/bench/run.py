"""Measure Pegboard against its references, interleaved in one run, and print ratios (`make bench`).

Every row compares the median CPU time of ours with that of a reference that ran in turns with it
(wall-clock time where the disk is measured), so the speed of the machine cancels out. The rows go
to `build/bench.json`; the exit status is 1 when a target does not hold.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
GROUPS = (
    "boot",
    "dialects",
    "dispatch",
    "engine",
    "files",
    "providers",
    "registry",
    "sandbox",
    "search",
    "steps",
)
"""Each a module beside this one, with a function `measure`."""
sys.path.insert(0, str(HERE))


@dataclass
class Row:
    """One comparison: samples in `unit`, and the ratio of the medians against a target."""

    name: str
    unit: str
    target: float
    reference_name: str
    ours: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ours) / statistics.median(self.reference)

    @property
    def holds(self) -> bool:
        return self.ratio <= self.target

    def to_dict(self) -> dict[str, object]:
        return asdict(self) | {"ratio": round(self.ratio, 3), "holds": self.holds}


def peers_python() -> Path:
    """Return the Python of the peers' environment, made at the first call."""
    folder = BUILD / "bench-peers"
    python = folder / "bin" / "python"
    stamp = folder / "installed"
    wanted = (HERE / "requirements.txt").read_text("utf-8")
    if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
        print("installing the peers ...", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def rows(only: str | None) -> Iterator[Row]:
    if only is not None and only not in GROUPS:
        sys.exit(f"no group {only!r}; groups are: {', '.join(GROUPS)}")
    for name in GROUPS:
        if only in (None, name):
            yield from import_module(name).measure(Row, peers_python)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help=f"one group: {', '.join(GROUPS)}")
    found = []
    head = f"{'what':<46} {'ours':>10} {'reference':>10} {'ratio':>7} {'target':>7}"
    print(head, "-" * len(head), sep="\n")
    for row in rows(parser.parse_args().only):
        found.append(row)
        ours, reference = statistics.median(row.ours), statistics.median(row.reference)
        verdict = "holds" if row.holds else "MISSED"
        print(
            f"{row.name:<46} {ours:>8.1f}{row.unit} {reference:>8.1f}{row.unit}"
            f" {row.ratio:>7.2f} {row.target:>7.2f}  {verdict}",
            flush=True,
        )
    BUILD.mkdir(exist_ok=True)
    report = json.dumps([row.to_dict() for row in found], indent=2)
    (BUILD / "bench.json").write_text(report + "\n", encoding="utf-8")
    return 0 if all(row.holds for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
