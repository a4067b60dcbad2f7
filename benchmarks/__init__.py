"""Benchmarks of speed, as ratios to named alternatives that are measured in the same run, on one thread.

NumPy reads these variables on its first import, which comes after this package.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
