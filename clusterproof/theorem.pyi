"""The words in which claims are written."""

from .theory.claims import Excluded as Excluded
from .theory.claims import Replicates as Replicates
from .theory.claims import Sides as Sides
from .theory.claims import Stream as Stream
from .theory.claims import at_least as at_least
from .theory.claims import at_most as at_most
from .theory.claims import choice as choice
from .theory.claims import claim as claim
from .theory.claims import drawn as drawn
from .theory.claims import equal as equal
from .theory.claims import expectation as expectation
from .theory.claims import given as given
from .theory.claims import integers as integers
from .theory.claims import matrices as matrices
from .theory.claims import parametrize_with_claims as parametrize_with_claims
from .theory.claims import probability as probability
from .theory.claims import psd as psd
from .theory.claims import rationals as rationals
from .theory.claims import reals as reals
from .theory.claims import sequences as sequences
from .theory.claims import simplex as simplex
from .theory.claims import suppose as suppose
from .theory.claims import vectors as vectors
