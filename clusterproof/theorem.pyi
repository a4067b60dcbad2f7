"""The words in which claims are written."""

from .theory.checker import Replicates as Replicates
from .theory.checker import Sides as Sides
from .theory.checker import Stream as Stream
from .theory.checker import at_least as at_least
from .theory.checker import at_most as at_most
from .theory.checker import choice as choice
from .theory.checker import drawn as drawn
from .theory.checker import earlier as earlier
from .theory.checker import equal as equal
from .theory.checker import expectation as expectation
from .theory.checker import integers as integers
from .theory.checker import probability as probability
from .theory.checker import rationals as rationals
from .theory.checker import reals as reals
from .theory.checker import searched as searched
from .theory.checker import suppose as suppose
from .theory.checker.claim_decorator import claim as claim
