"""Parts that several algorithms, and the records of their runs, are put together from."""
