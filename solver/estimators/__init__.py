"""scikit-learn estimators: optimal trees where a classifier or a regressor is expected.

Here: ``fit`` and ``predict`` as scikit-learn defines them.
Not here: the searches that they start (``solver.solve_problem``).
"""

from solver.estimators.branches import BranchesClassifier
from solver.estimators.osdt import OSDTClassifier
from solver.estimators.proper import ProperTreeClassifier
from solver.estimators.quantbnb import QuantBnBClassifier, QuantBnBRegressor
from solver.estimators.to_sklearn import to_sklearn

__all__ = [
    "BranchesClassifier",
    "OSDTClassifier",
    "ProperTreeClassifier",
    "QuantBnBClassifier",
    "QuantBnBRegressor",
    "to_sklearn",
]
