"""scikit-learn estimators: optimal trees where a classifier is expected."""

from solver.estimators.branches import BranchesClassifier
from solver.estimators.osdt import OSDTClassifier

__all__ = ["BranchesClassifier", "OSDTClassifier"]
