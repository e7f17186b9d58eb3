"""scikit-learn estimators: optimal trees where a classifier or a regressor is expected."""

from solver.estimators.branches import BranchesClassifier
from solver.estimators.osdt import OSDTClassifier
from solver.estimators.quantbnb import QuantBnBClassifier, QuantBnBRegressor

__all__ = ["BranchesClassifier", "OSDTClassifier", "QuantBnBClassifier", "QuantBnBRegressor"]
