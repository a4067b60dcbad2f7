"""What may differ between processors after linear algebra: relative 1e-7, and 1e-10 of the array's scale."""

import numpy as np

RELATIVE = 1e-7
ABSOLUTE_OF_SCALE = 1e-10


def assert_close(found, expected):
    scale = np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=ABSOLUTE_OF_SCALE * scale)
