"""What most commands import, loaded once: the process from which ``serve`` forks its calls imports this module."""

import clusterproof.commands.application
import clusterproof.commands.check
import clusterproof.commands.conform
import clusterproof.commands.improve
import clusterproof.commands.run
import clusterproof.commands.show  # noqa: F401 - all of them are imported to be there
from clusterproof import checker

checker.catalogue()  # imports the papers
