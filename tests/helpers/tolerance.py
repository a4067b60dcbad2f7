"""One tolerance for what met linear algebra, whose last bits depend on the processor."""

from typing import Any

import numpy as np

RELATIVE = 1e-7
ABSOLUTE_OF_SCALE = 1e-10


def assert_close(found: Any, expected: Any) -> None:
    """Assert equality to 1e-7 of each number plus 1e-10 of the largest expected one."""
    expected = np.asarray(expected, dtype=float)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = finite.max(initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=ABSOLUTE_OF_SCALE * scale)
