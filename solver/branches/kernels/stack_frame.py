"""The numbers of a frame: places in ``Stack.head``."""

(
    NODE,  # number of this branch in the memo
    BUDGET,  # splits allowed
    LIMIT,  # the search leaves when the node's bound reaches it; or OPEN_ONLY
    TURN,  # the current split is left when its bound reaches it
    CURRENT,  # feature of the split that is followed; −1: none
    CHILD,  # value of it that is on the stack above
    TOTAL,  # weight
    N_ROWS,
    N_WORDS,
    N_CLASSES,  # present
    N_LIVE,
    N_GROUPED,  # live features when equivalent points were looked for
    UNAVOIDABLE,  # errors on them; −1: not counted
    N_COLUMNS,
    N_CANDIDATES,
    ROWS_AT,  # where the frame's part of an arena begins
    WORDS_AT,
    JOINT_AT,
    HAS_JOINT,
    DIVING,  # in the first descent, along the trees that cost least
    NEXT,  # value of the current split that it descends into next
    HEAD,
) = range(22)

OPEN_ONLY = -1
"""The limit of a frame whose children are wanted, and no search."""
