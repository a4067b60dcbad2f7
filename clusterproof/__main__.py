"""``python -m clusterproof`` is the command line."""

import sys

from clusterproof.commands.application import main

if __name__ == "__main__":
    sys.exit(main())
