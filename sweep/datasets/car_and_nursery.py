"""The rules that define the datasets car and nursery.

Both are complete tables of hierarchical decision models (M. Bohanec and V. Rajkovič): attributes
determine concepts, and concepts determine the class. Which attributes a concept has is published.
The tables below follow from the data: two combinations have the same level of a concept if they
always lead to the same class. The concepts have their published names, the levels ours.

The first line of a table has the values of its last argument. The other lines have the values of
the other arguments, a colon, and the results.
"""

from __future__ import annotations

from collections.abc import Callable

from solver.errors import InputError

CAR = {
    "buying": "vhigh high med low",
    "maint": "vhigh high med low",
    "doors": "2 3 4 5more",
    "persons": "2 4 more",
    "lug_boot": "small med big",
    "safety": "low med high",
}

PRICE = """
         vhigh  high   med    low
vhigh  : vhigh  vhigh  high   high
high   : vhigh  high   high   high
med    : high   high   med    low
low    : high   med    low    low
"""

COMFORT = """
             small  med   big
2     2    : poor   poor  poor
2     4    : fair   fair  good
2     more : poor   fair  good
3     2    : poor   poor  poor
3     4    : fair   fair  good
3     more : fair   good  good
4     2    : poor   poor  poor
4     4    : fair   good  good
4     more : fair   good  good
5more 2    : poor   poor  poor
5more 4    : fair   good  good
5more more : fair   good  good
"""

TECH = """
       low   med   high
poor : bad   bad   bad
fair : bad   fair  good
good : bad   good  best
"""

CAR_CLASS = """
        bad    fair   good   best
vhigh : unacc  unacc  unacc  unacc
high  : unacc  unacc  acc    acc
med   : unacc  acc    acc    vgood
low   : unacc  acc    good   vgood
"""

NURSERY = {
    "parents": "usual pretentious great_pret",
    "has_nurs": "proper less_proper improper critical very_crit",
    "form": "complete completed incomplete foster",
    "children": "1 2 3 more",
    "housing": "convenient less_conv critical",
    "finance": "convenient inconv",
    "social": "nonprob slightly_prob problematic",
    "health": "recommended priority not_recom",
}

EMPLOY = """
              proper  less_proper  improper  critical  very_crit
usual       : good    fair         fair      poor      bad
pretentious : fair    fair         poor      bad       bad
great_pret  : poor    poor         bad       bad       bad
"""

STRUCTURE = """
             1     2     3     more
complete   : good  fair  poor  poor
completed  : fair  fair  poor  poor
incomplete : fair  poor  poor  poor
foster     : poor  poor  poor  poor
"""

STRUCT_FINAN = """
                  convenient  inconv
good convenient : good        fair
good less_conv  : fair        fair
good critical   : fair        fair
fair convenient : fair        fair
fair less_conv  : fair        fair
fair critical   : poor        poor
poor convenient : fair        poor
poor less_conv  : poor        poor
poor critical   : poor        poor
"""

SOC_HEALTH = """
                recommended  priority  not_recom
nonprob       : good         fair      bad
slightly_prob : good         fair      bad
problematic   : fair         fair      bad
"""

NURSERY_CLASS = """
            good        fair        bad
good good : recommend   priority    not_recom
good fair : very_recom  priority    not_recom
good poor : priority    priority    not_recom
fair good : very_recom  priority    not_recom
fair fair : very_recom  priority    not_recom
fair poor : priority    priority    not_recom
poor good : priority    priority    not_recom
poor fair : priority    priority    not_recom
poor poor : priority    spec_prior  not_recom
bad  good : priority    priority    not_recom
bad  fair : priority    spec_prior  not_recom
bad  poor : spec_prior  spec_prior  not_recom
"""


def read_table(text: str) -> dict[tuple[str, ...], str]:
    """The result for each combination of arguments. Raises InputError for a malformed line."""
    head, *lines = text.strip().splitlines()
    table = {}
    for line in lines:
        arguments, results = line.split(":")
        if len(results.split()) != len(head.split()):
            raise InputError(f"the line {line.strip()!r} does not fit the head of its table")
        for last, result in zip(head.split(), results.split(), strict=True):
            table[(*arguments.split(), last)] = result
    return table


def car_rule() -> Callable[..., str]:
    """The class of a car from its six attributes, in the order of :data:`CAR`."""
    price, comfort, tech, car = map(read_table, (PRICE, COMFORT, TECH, CAR_CLASS))

    def rule(buying: str, maint: str, doors: str, persons: str, lug_boot: str, safety: str) -> str:
        return car[price[buying, maint], tech[comfort[doors, persons, lug_boot], safety]]

    return rule


def nursery_rule() -> Callable[..., str]:
    """The class of an application from its eight attributes, in the order of :data:`NURSERY`."""
    employ, structure, standing = map(read_table, (EMPLOY, STRUCTURE, STRUCT_FINAN))
    soc_health, nursery = map(read_table, (SOC_HEALTH, NURSERY_CLASS))

    def rule(
        parents: str,
        has_nurs: str,
        form: str,
        children: str,
        housing: str,
        finance: str,
        social: str,
        health: str,
    ) -> str:
        family = standing[structure[form, children], housing, finance]
        return nursery[employ[parents, has_nurs], family, soc_health[social, health]]

    return rule
