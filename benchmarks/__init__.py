"""Speed, as ratios against named alternatives measured in the same run, on one thread.

Numpy reads these variables when it is first imported, which is after this package.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
