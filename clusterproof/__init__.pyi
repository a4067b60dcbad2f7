"""The public names: the one list of them, for the interpreter and for type checkers."""

from . import algorithms as algorithms
from . import figures as figures
from . import neural as neural
from . import synthetic as synthetic
from . import tables as tables
from . import theory as theory
from .algorithms import ALGORITHMS as ALGORITHMS
from .algorithms import CFL as CFL
from .algorithms import CFLMGD as CFLMGD
from .algorithms import FPFC as FPFC
from .algorithms import IFCA as IFCA
from .algorithms import FedAvg as FedAvg
from .algorithms import FedBCD as FedBCD
from .algorithms import FedProx as FedProx
from .algorithms import GradientLoss as GradientLoss
from .algorithms import InvalidArgument as InvalidArgument
from .algorithms import Local as Local
from .algorithms import PerFedAvg as PerFedAvg
from .algorithms import SoFL as SoFL
from .algorithms import Trace as Trace
from .algorithms import run as run
from .algorithms.storage import load_trace as load_trace
from .algorithms.storage import save_trace as save_trace
from .synthetic import TASKS as TASKS
from .synthetic import LogCoshMixture as LogCoshMixture
from .synthetic import LogisticMixture as LogisticMixture
from .synthetic import QuadraticMixture as QuadraticMixture
from .synthetic import RegressionMixture as RegressionMixture
from .synthetic import TwoPointMixture as TwoPointMixture
from .theory import Verdict as Verdict
from .theory import assert_holds as assert_holds
from .theory import check as check
from .theory import claims as claims
from .theory import replay as replay
from .theory.certificate import certify as certify
from .theory.certificate import verify as verify

CLAIMS_BESIDE: tuple[str, ...]
