"""Which names the site's reference has, and how it reads docstrings and names in a text."""

from pathlib import Path

import pytest
from checkout import ROOT
from docutils.core import publish_doctree

from docs.site.catalogue import linked, plain
from docs.site.conf import escape
from docs.site.reference import described, public_modules


def test_every_package_with_public_names_has_a_page_and_every_name_is_described_once() -> None:
    modules = public_modules()
    stated = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "clusterproof").rglob("__init__.py")
        if "__all__" in path.read_text(encoding="utf-8")
    }
    assert stated <= set(modules)
    names = described(modules)
    assert "network" in names["clusterproof.neural.networks"]
    assert "network" not in names["clusterproof.neural"]
    values = [(name, id(getattr(modules[module], name))) for module in names for name in names[module]]
    assert len(values) == len(set(values)) > 100


@pytest.mark.slow(reason="needs a site")
def test_public_names_have_their_anchors(site: Path) -> None:
    for module, name in (
        ("algorithms", "FedAvg"),
        ("conformance", "assert_conforms"),
        ("checker", "Verdict"),
    ):
        text = (site / f"catalogue/reference-clusterproof.{module}.html").read_text(encoding="utf-8")
        assert f'id="clusterproof.{module}.{name}"' in text


@pytest.mark.parametrize(
    "line", ["Run a model x. T.", "||e_(t+1)|| <= |C| and x_", "chi*_p and *a", "one ``code_ |x|`` and f_*"]
)
def test_mathematics_in_a_docstring_is_no_markup(line: str) -> None:
    lines = ["The horizon is", "", line] if line.endswith("T.") else [line]
    wanted = " ".join(filter(None, lines)).replace("``", "")
    escape(None, "function", "f", None, {}, lines)
    document = publish_doctree("\n".join(lines), settings_overrides={"report_level": 1, "halt_level": 1})
    assert document.astext().replace("\n\n", " ") == wanted


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("`cfl-mgd/lemma-h`", "cfl-mgd.md#cfl-mgd-lemma-h"),
        ("`clusterproof\nshow cfl-mgd/lemma-2`", "cfl-mgd.md#cfl-mgd-lemma-2"),
        ("`cfl-mgd/none`", None),
        ("# `cfl-mgd/lemma-h`", None),
        ("[of `cfl-mgd/lemma-h`](x.md)", None),
        ("```python\nx = `cfl-mgd/lemma-h`\n```", None),
    ],
)
def test_names_of_claims_lead_to_their_entries(text: str, target: str | None) -> None:
    assert linked(text, "catalogue/") == (f"[{text}](catalogue/{target})" if target else text)


def test_a_statement_is_no_markdown() -> None:
    assert plain("||e_t|| <= 2\n and ``a_b | c`` *") == r"\|\|e\_t\|\| \<= 2 and `a_b | c` \*"
