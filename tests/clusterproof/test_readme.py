"""The README's Python example does what the README says."""

import re
from pathlib import Path


def test_the_python_example_runs() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["trace"].errors.shape == (51, 1000, 2)
