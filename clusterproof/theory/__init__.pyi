from .bounds.trace_bound import TraceBound as TraceBound
from .falsify import falsify as falsify
from .pages.compare import compare as compare
from .pages.page import Page as Page
from .runs.bound import Inconclusive as Inconclusive
from .runs.bound import bound as bound
from .runs.bound_checks import assert_holds as assert_holds
from .runs.same_law import assert_same_law as assert_same_law
