"""Run the command line with ``python -m clusterproof``."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python has put the working folder first, but its files must not replace Python's modules
        folder = sys.path.pop(0)
        sys.path.append(folder)
        for name in sys.modules.keys() & sys.stdlib_module_names:
            file = getattr(sys.modules[name], "__file__", None)
            if file and os.path.dirname(file) == folder:
                sys.exit(f"error: {file} replaces a module of Python: rename it, or run `clusterproof`")

    from clusterproof.commands.application import main

    sys.exit(main())
