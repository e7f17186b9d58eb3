"""The engine: a sweep is planned, run on Dask and stored in Parquet, and can be resumed.

Here: specification, plan, driver, workers, store, clusters, datasets.
Not here: one search (``solver``) and what people read (``pipelines``).
"""
