"""Run the command line with ``python -m clusterproof``."""

import sys

from clusterproof.commands.application import main

if __name__ == "__main__":
    sys.exit(main())
