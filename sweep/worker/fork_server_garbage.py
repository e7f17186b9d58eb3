"""No garbage collection in the process that workers are forked from.

It imports this first. Nothing of what it imports after this is garbage: to look for some took a
third of the time of the imports. In a worker that looked there, the memory that all share would be
copied, so what has been imported is left out there for good.
"""

import gc
import os

gc.disable()
os.register_at_fork(before=gc.freeze, after_in_child=gc.enable)
