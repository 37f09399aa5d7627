"""Estimators in scikit-learn's shape: check, solve, store."""
