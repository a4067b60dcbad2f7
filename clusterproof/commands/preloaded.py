"""Imports that most commands need. ``serve`` forks its calls from a process that has imported this module."""

import clusterproof.commands.application
import clusterproof.commands.check
import clusterproof.commands.conform
import clusterproof.commands.improve
import clusterproof.commands.run
import clusterproof.commands.show  # noqa: F401 - all are imported so that forks have them
from clusterproof import checker

checker.catalogue()  # this imports the papers
