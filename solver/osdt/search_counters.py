"""The counters of a search: places in ``Trees.used``."""

(
    LEAVES,
    OPTIONS,
    TREES,
    SPREAD,
    QUEUE,
    POPPED,
    EVALUATED,
    BEST,  # cost of the best tree found
    BEST_PARENT,  # −1: the root alone
    BEST_OPTION,
    BEST_EVALUATED,  # trees evaluated when it was found
    KNOWN,  # one more than the cost of a tree that was given
    LONGEST,  # leaves of the largest tree
    HEADS,  # chains of the tree cache
    BASE,  # the power of two up to HEADS
    BY_HIERARCHICAL,  # what was pruned, by bound
    BY_LOOKAHEAD,
    BY_SUPPORT,
    BY_INCREMENTAL,
    BY_ACCURACY,
    BY_PERMUTATION,
    BY_SIMILAR,
    BY_EQUIVALENT,
    BY_DOMINANCE,
    BY_TWO_STEPS,
    COUNTERS,
) = range(26)
