"""
Check a certificate
===================

"Optimal" is a claim. A *certificate* lets anybody check it: a program of a few hundred lines, which
shares nothing with the search, derives the claim again from the data, or refuses it.
"""

import matplotlib.pyplot as plt

import treesweep
from solver.verify.certificate import Claim
from solver.verify.certificate_checker import Refused, check

data = treesweep.load_dataset("monks-1")
problem = treesweep.Problem.from_table(data.frame, target=data.target, encoding="onehot")
solution = treesweep.solve(problem, lam="0.02")
print("claimed:", solution.status.value, solution.objective)

# %%
# The solver writes the certificate, and the checker reads it with nothing but the codes and the
# class counts.

claim = Claim(solution.lam, solution.errors, solution.splits)
certificate = treesweep.get_solver("branches")().certify(problem, [claim], treesweep.Limits())
table = certificate.columns()
proven = check(problem.codes, problem.arities, problem.counts, table, certificate.meta)
print("proven: no tree has an objective below", proven[solution.lam])
assert proven[solution.lam] == solution.objective

# %%
# A certificate that is changed in one place is refused. Each row of it has a lower bound on the
# cost of every tree in some part of the data; here one bound is raised.

first = {name: column.copy() for name, column in table.items()}
first["bound"][0] += 1
try:
    check(problem.codes, problem.arities, problem.counts, first, certificate.meta)
except Refused as refusal:
    print("refused:", refusal)

# %%
# The bound that the true certificate proves equals the objective of the tree: the gap is 0. The
# picture shows how the search closed it: the best tree so far comes from above, the proven bound
# from below.

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
seconds = [point.seconds for point in solution.trace]
axes.step(seconds, [float(p.objective) for p in solution.trace], where="post", label="best tree")
axes.step(seconds, [float(p.lower_bound) for p in solution.trace], where="post", label="bound")
axes.set(xlabel="seconds", ylabel="loss + λ · splits")
axes.legend()
plt.show()
