"""The way in for a stranger's theorem: state it, falsify a bound, load files and plugins, paste what was found."""

from clusterproof.theory.workbench.falsifying import falsify
from clusterproof.theory.workbench.loading import PluginWarning, load_claims, load_plugins
from clusterproof.theory.workbench.pasting import code_of
from clusterproof.theory.workbench.stating import claim

__all__ = ["PluginWarning", "claim", "code_of", "falsify", "load_claims", "load_plugins"]
