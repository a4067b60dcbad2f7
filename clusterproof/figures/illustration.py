"""Base class of the figures in the catalogue: a dataclass with the parameters of the figure as fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, dataclass_transform

from msgspec import Meta

from clusterproof.common.validation import check_seed
from clusterproof.figures.style import styled
from clusterproof.settings import converted, parameter_types

if TYPE_CHECKING:
    from clusterproof.figures.style import Figure

Positive: TypeAlias = Annotated[float, Meta(gt=0, le=1e6)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=1e6)]
Kappa: TypeAlias = Annotated[float, Meta(ge=1, le=1e6)]
Momentum: TypeAlias = Annotated[float, Meta(ge=0, lt=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=100_000)]


@dataclass_transform(kw_only_default=True, frozen_default=True)
@dataclass(frozen=True, kw_only=True)
class Illustration(ABC):
    """A figure of the catalogue, for example ``ErrorPerRound(kappa=100).plot(width=12)``.

    A notebook displays the figure if it is the last expression of a cell. Subclasses define ``compute`` and ``draw``,
    and have a default for every field. They become frozen, keyword-only dataclasses automatically.

    Parameters
    ----------
    seed
        Seed of all random numbers.

    Attributes
    ----------
    name, title, alt
        Name used on the command line and for the file, one-line title, and alternative text.
    claims
        Ids of the claims that the figure illustrates.

    Raises
    ------
    InvalidArgument
        If a parameter has the wrong type or is out of range.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    alt: ClassVar[str]
    claims: ClassVar[tuple[str, ...]] = ()

    seed: int = 0

    def __init_subclass__(cls) -> None:
        """Make the subclass a frozen, keyword-only dataclass."""
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        """Check types and ranges, and convert lists to tuples."""
        check_seed(self.seed)
        for name, kind in parameter_types(type(self)).items():
            object.__setattr__(self, name, converted(name, getattr(self, name), kind))

    @property
    def description(self) -> str:
        """Title and alternative text. The alternative text describes the figure for the default parameters."""
        changed = self.changed
        return f"{self.title}. {f'{changed} With the defaults: ' if changed else ''}{self.alt}"

    @property
    def changed(self) -> str:
        """Sentence about the parameters that differ from the defaults, or "" if there are none."""
        values = ", ".join(
            f"{field.name.replace('_', ' ')} = {written(getattr(self, field.name))}"
            for field in fields(self)
            if field.name != "seed" and getattr(self, field.name) != field.default
        )
        return f"Changed from the defaults: {values}." if values else ""

    def chosen(self, *names: str) -> dict[str, Any]:
        """Return the values of some parameters, indexed by name."""
        return {name: getattr(self, name) for name in names}

    @abstractmethod
    def compute(self) -> Any:
        """Compute the data of the figure: arrays, indexed by name."""

    @abstractmethod
    def draw(self, data: Any) -> Figure:
        """Draw the result of ``compute`` with the style sheet."""

    def plot(
        self,
        *,
        width: float | None = None,
        caption: bool = True,
        title: str | None = None,
        labels: Sequence[str] = (),
    ) -> Figure:
        """Compute and draw the figure.

        Parameters
        ----------
        width, caption, title, labels
            See ``clusterproof.figures.style.Appearance``.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. Write it to a file with ``clusterproof.figures.save``.

        Raises
        ------
        InvalidArgument
            If parameters contradict each other, matplotlib is not installed, or ``width`` or ``labels`` do not fit
            the figure.
        """
        looks = {"width": width, "caption": caption, "title": title, "labels": labels}
        return styled(lambda: self.draw(self.compute()))(**looks)

    def caption(self, words: str, *, random: bool = True) -> str:
        """Complete a caption with the parameters that differ from the defaults, and with the seed."""
        parts = [words, self.changed]
        if f"seed {self.seed}." not in words:
            parts.append(f"Seed {self.seed}{'' if random else ' (nothing is random)'}.")
        return " ".join(filter(None, parts))

    def _repr_png_(self) -> bytes:
        """Draw the figure for a notebook."""
        drawn: Any = self.plot()
        return bytes(drawn._repr_png_())


def written(value: Any) -> str:
    """Write the value of a parameter for a caption, for example "0.5", "regression" or "0, 0.5, 0.9"."""
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))})"
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else f"{value}"
