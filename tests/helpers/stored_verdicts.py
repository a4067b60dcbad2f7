"""What every claim was found to be over a hundred seeds: `python -m benchmarks.verdicts_over_seeds`."""

import json
from pathlib import Path
from typing import Any

STORED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "theory" / "verdicts_over_seeds.json").read_text()
)
