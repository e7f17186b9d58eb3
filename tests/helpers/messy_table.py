"""A table as companies have them: nothing in it is read as it should be without being told."""

from __future__ import annotations

import csv
import random
from pathlib import Path

TARGET = "segment"


def write_messy_table(
    path: Path, rows: int = 3000, *, charset: str = "utf-8", separator: str = ","
) -> None:
    """Ages with ``?``, ``29,755``, ``23%``, ``1,5``, ``31/07/2020``, an id, three classes."""
    draw = random.Random(7)
    with path.open("w", encoding=charset, newline="") as file:
        table = csv.writer(file, delimiter=separator)
        table.writerow(
            ["customer id", "age", "income", "share", "rate", "since", "city", "rooms", TARGET]
        )
        for row in range(rows):
            age, income, share = draw.randint(18, 90), draw.randint(900, 99999), draw.randint(0, 99)
            label = "gold" if income > 50000 and share > 40 else "old" if age > 45 else "basic"
            if draw.random() < 0.15:
                label = draw.choice(["gold", "old", "basic"])
            day, month, year = draw.randint(1, 28), draw.randint(1, 12), draw.randint(2015, 2023)
            table.writerow(
                [
                    f"C-{row:05d}",
                    "?" if draw.random() < 0.03 else age,
                    f"{income:,}",
                    f"{share}%",
                    f"{draw.randint(0, 99) / 10}".replace(".", ","),
                    f"{day:02d}/{month:02d}/{year}",
                    draw.choice(["Köln", "Bonn", "Paris"]),
                    draw.randint(1, 6),
                    label,
                ]
            )
