"""Parts that several algorithms are put together from."""
