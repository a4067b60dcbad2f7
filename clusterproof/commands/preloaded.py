"""Imports that most commands need, loaded once in the process from which ``serve`` forks its calls."""

import clusterproof.commands.application
import clusterproof.commands.check
import clusterproof.commands.conform
import clusterproof.commands.improve
import clusterproof.commands.run
import clusterproof.commands.show  # noqa: F401 - all of them are imported to be there
from clusterproof import checker

checker.catalogue()  # this imports the papers
