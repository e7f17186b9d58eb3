"""The engine: a sweep is planned, run on Dask and stored in Parquet, and can be resumed."""
