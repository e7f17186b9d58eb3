"""Names of option sets that differ from the first one."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.report.analysis.ablations import (
    SEVERAL,
    SWITCHES,
    describe_first_variant,
    describe_variant,
)

FIRST = {"lookahead": True, "similar_support": False, "policy": "curiosity", "seconds": 5}


@pytest.mark.parametrize(
    ("own", "label", "kind"),
    [
        ({"lookahead": False}, "no lookahead", SWITCHES),
        ({"similar_support": True}, "with similar support", SWITCHES),
        ({"lookahead": False, "similar_support": True},
         "no lookahead, with similar support", SWITCHES),
        ({"policy": "entropy"}, "policy: entropy", "policy"),
        ({"seconds": None}, "seconds: none", "seconds"),
        ({"policy": "gini", "lookahead": False}, "no lookahead, policy: gini", SEVERAL),
        ({}, "the same", SEVERAL),
    ],
)  # fmt: skip
def test_what_is_unlike_the_first(own: dict[str, Any], label: str, kind: str) -> None:
    assert describe_variant(FIRST, {**FIRST, **own}) == (label, kind)


def test_the_first_is_named_by_what_is_unlike_the_defaults() -> None:
    assert describe_first_variant("branches", {"pairs": True, "seconds": 3}).label == "defaults"
    assert describe_first_variant("branches", {"pairs": False, "mode": "full"}).label == "no pairs"
    own, others = {"depth": 2, "shards": 2, "seconds": 3}, [{"depth": 3, "seconds": 3}]
    assert describe_first_variant("quantbnb", own, others).label == "depth: 2, shards: 2"
    assert describe_first_variant("branches", {"seconds": 3}, others).label == "defaults"
    assert describe_first_variant("of another version", {"pairs": False}).label == "first"
