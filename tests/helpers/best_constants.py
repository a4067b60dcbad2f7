"""The best constants of statements that are loose as printed, by routes that share nothing with the checks."""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import bdtr


def half() -> float:
    """Return 1/2: Cantelli's inequality has 64 for 128, and for P clusters 64 (P - 1) for 128 P, where P has no end.

    Of false members there are (1 - l_1) m clients for m, all as l_1 tends to 0.
    """
    return 64 / 128


def markov_on_the_mean() -> float:
    """Return 1/4: ||T_2|| exceeds E||T_2|| / (P lambda_1 + lambda_2) with at most the allowed probability.

    A client whose optimum is s Delta / 2 from chi_1, s >= 3/2, errs with a probability of at most (8 / (4 s^2 - 1))^2
    times x = 64 sigma^2 / (mu^2 Delta^4 n'), by Cantelli's inequality, and its mean gradient is at most L s there,
    as Delta <= 2. s (8 / (4 s^2 - 1))^2 falls from 3/2 on. So E||T_2|| <= 3 x / 2 + sqrt(x) v / (L sqrt(m n')), the
    latter since fresh gradients' noise is uncorrelated. Of the first term of (36), 6 x / lambda_2, that needs 1/4
    lambda_2 / (P lambda_1 + lambda_2), and of the second one sqrt(lambda_2 / 2P) lambda_1 / (P lambda_1 + lambda_2),
    which is less than sqrt(1 / 2P) / P <= 1/4. With lambda_2 near 1 and many clients 1/4 is needed.
    """
    return 1.5 * 64 / (3 * 128)


def by_cantelli() -> float:
    """Return 2/5: Cantelli's bound for just enough rows over 1/2, attained by two clusters.

    For P clusters let s = sigma^2 / n', X_p the centred loss at model p, and g = mu Delta^2 / 4, so that g^2 >= (16
    (P - 1)) s. A client errs where X_1 - X_p >= g for some p. With r^2 = P - 1, u = 2 s / g and h = g + 2 u,
    (1 + r) [(X_1 + u)^2 + (1 / r) sum_p (X_p - u)^2] / h^2 is never negative, and at least 1 there. Its mean is at
    most (1 + r)^2 s / (g^2 + 4 s) <= (1 + r)^2 / (16 r^2 + 4), 1/5 for r = 1 and less for every r > 1.
    """
    return 64 / (64 + 256) / 0.5


def one_client() -> float:
    """Return the share of the bound that one client uses if it errs half of the time, the largest over all numbers.

    Up to 100 clients by the incomplete beta function; beyond, Chernoff's exponent KL(1/4 || 1/2) is above 1/8.
    """
    counts = np.arange(1, 101)
    used = bdtr(np.ceil(counts / 4) - 1, counts, 0.5) / (2 * np.exp(-counts / 8))
    exponent = math.log(2) + 0.25 * math.log(0.25) + 0.75 * math.log(0.75)
    beyond = math.exp(-101 * (exponent - 1 / 8)) / 2
    return float(max(used.max(), beyond))


BEST: dict[str, Callable[[], float]] = {
    "cfl-mgd/lemma-1": half,
    "cfl-mgd/lemma-1-union": half,
    "cfl-mgd/appendix-a4#(A4)": by_cantelli,
    "cfl-mgd/appendix-a4#(A6)": one_client,
    "cfl-mgd/appendix-a15#(A15)": half,
    "cfl-mgd/appendix-a15#(A16), meant": half,
}
"""The least factor on the bound of each at which it is still true."""
