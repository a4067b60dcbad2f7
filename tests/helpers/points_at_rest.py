"""Fixed points of algorithms on quadratics in closed form, beside the ones of ``affine_rounds``."""

import numpy as np

from clusterproof.theory.exact.affine_rounds import exact_rest


def corrected(hessians: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """SCAFFOLD, FedLin and ProxSkip rest at the exact optimum x*, the control variates at A_i (x* - b_i).

    Returns
    -------
    tuple
        x* (d,) and the clients' gradients there, whose mean is 0, (m, d).
    """
    optimum = exact_rest(hessians, centers)
    return optimum, np.einsum("mij,mj->mi", hessians, optimum - centers)
