"""How close two arrays must be that are computed by different routes."""

import numpy as np

RELATIVE = 1e-7
ABSOLUTE_OF_SCALE = 1e-10


def assert_close(found, expected):
    """Assert that arrays agree up to the rounding of linear algebra."""
    scale = np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=ABSOLUTE_OF_SCALE * scale)
