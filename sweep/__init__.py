"""The engine: a sweep is planned, run on Dask and stored in Parquet, and can be resumed."""

from sweep.store.results import read_results

__all__ = ["read_results"]
