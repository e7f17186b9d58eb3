"""
Strings, dates and missing values
=================================

A table with strings, dates and missing values needs no preparation. treesweep finds out the type
of each column, and the tests of the tree use the names and values of the table.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import treesweep

random = np.random.default_rng(0)
n = 300
table = pd.DataFrame(
    {
        "region": random.choice(["north", "south", "east", None], n),
        "income": random.integers(18, 60, n) * 100.0,
        "since": pd.Timestamp("2015-01-01") + pd.to_timedelta(random.integers(0, 3000, n), "D"),
    }
)
risky = (table["region"] == "north") & (table["income"] < 3500) | (table["since"] > "2022-01-01")
table["default"] = np.where(risky ^ (random.random(n) < 0.05), "yes", "no")
table.loc[random.random(n) < 0.1, "income"] = None  # some did not say
print(table.head())

# %%

problem = treesweep.Problem.from_table(table, target="default", encoding="quantiles")
solution = treesweep.solve(problem, lam="0.02")
print(treesweep.export_text(solution))

# %%
# The tree predicts on raw rows, also with values that it has never seen.

new = pd.DataFrame(
    {
        "region": ["north", "overseas", None],
        "income": [2050, None, 9000],
        "since": pd.to_datetime(["2016-01-01", "2023-01-01", None]),
    }
)
print(solution.tree.predict(new))

# %%

figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
treesweep.plot_tree(solution, ax=axes)
plt.show()

# %%
# The same tree without treesweep: a Python function, and an SQL expression.

print(treesweep.export_python(solution))

# %%

print(treesweep.export_sql(solution))
