"""Exact numbers, and the operators of the language. Proofs use only these additions, comparisons and divisions.

The type of a number must be exactly ``int`` or ``Fraction``: NumPy integers overflow, floats are rounded, and
subclasses may define other comparisons. Every operation costs steps, in proportion to the length of its numbers.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, changed, made, spend
from clusterproof.checker.kernel.records import Record

LARGEST = 1 << 16
"""Largest number of bits of a power, product, sum or literal."""
LONGEST_GIVEN = 4096
"""Largest number of bits of a number in evidence, an end of a range, a constant of a class, an index, or a count."""


class Abstract:
    """A symbol, or a quantity that depends on a function of a class; it cannot be compared with == or be a key.

    A function of the language therefore performs the same operations on symbols as on numbers, in the same order. If it
    is called with symbols, it returns its own formula.
    """

    def __eq__(self, other: object) -> bool:
        raise Refused("whether symbols are equal is not decided: state it as a hypothesis, or as a line")

    def is_zero(self) -> Any:
        """Return the statement that the number is 0, as a ``Fact``."""
        raise Refused("an equation of values that are no numbers")

    def differs(self) -> bool:
        """Raise an error, because a claim cannot suppose that a symbol differs from 0."""
        raise Refused("!= of symbols is no hypothesis: state <, <=, == or their like")

    def exact(self) -> int | Fraction:
        """Raise an error, because a symbol has no value; the export of proofs overrides this method."""
        raise Refused("a symbol stands where a number must be, such as a number of rounds")

    def __abs__(self) -> Any:
        """Raise an error, because the result has no formula."""
        raise Refused("an absolute value of what depends on a function of a class: compare squares")

    def __bool__(self) -> bool:
        raise Refused("a symbol is neither true nor false: compare it with a number, as in `if step > 0:`")


def number(value: Any) -> int | Fraction:
    """Require an exact number, and return it; booleans become 0 or 1.

    Raises
    ------
    Refused
        If the value has another type.
    """
    if type(value) in (int, bool):
        return int(value)
    if type(value) is Fraction and type(value.numerator) is type(value.denominator) is int:
        return value
    if isinstance(value, Abstract):
        return value.exact()
    raise Refused(f"{type(value).__name__} is no exact number: compute with int and Fraction")


def read(code: Any) -> int | Fraction:
    """Read a number from evidence: an int, or a string such as ``"-3/4"``."""
    spend(1 + (len(code) // 16 if type(code) is str else 0))
    is_text = type(code) is str and re.fullmatch(r"-?[0-9]{1,640}(/[0-9]{1,640})?", code, re.ASCII)
    if type(code) is not int and not is_text:
        raise Refused(f"{code!r} is no number of evidence: it is an int, or a text such as '-3/4'")
    exact: int | Fraction = short(Fraction(code) if is_text else code, LONGEST_GIVEN)
    return exact


def write(value: Any) -> Any:
    """Convert a number to the format of evidence, which ``read`` reads; return all other values unchanged."""
    if type(value) is Fraction:
        return int(value) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    return value


def whole(value: Any) -> int:
    """Require an int, and return it."""
    exact = number(value)
    if type(exact) is not int:
        raise Refused(f"{exact} must be an int")
    return exact


def place(value: Any) -> int:
    """Require an int that is not too long for an index, an end of a range or the start of a count; return it."""
    return short(whole(value), LONGEST_GIVEN)  # type: ignore[no-any-return]  # its argument


def integral(value: Any) -> int:
    """Require an integer, which may be a ``Fraction``, because symbols do not distinguish the two types; return it."""
    exact = number(value)
    if exact.denominator != 1:
        raise Refused(f"{exact} must be an integer")
    return int(exact)


def words(value: Any) -> int:
    """Return the length of a number in 64-bit words, rounded down."""
    if type(value) is Fraction:
        return (value.numerator.bit_length() + value.denominator.bit_length()) >> 6
    return value.bit_length() >> 6 if type(value) is int else 0


def cost_of_sum(left: Any, right: Any) -> int:
    """Return the number of steps to count for a sum of long numbers.

    For fractions, the sum contains products with denominators. The steps for sums of symbols are counted elsewhere.
    """
    if isinstance(left, Abstract) or isinstance(right, Abstract) or not left or not right:
        return 0
    above, above_right = left.numerator.bit_length(), right.numerator.bit_length()
    below, below_right = left.denominator.bit_length(), right.denominator.bit_length()
    products: int = below * (above_right + below_right) + below_right * (above + below)
    length: int = above + above_right
    return (products >> 14) + (length >> 12)


def short(value: Any, most: int = LARGEST) -> Any:
    """Require a number that is not too long, so that each step takes little time and memory; return it."""
    if words(value) << 6 > most:
        raise Refused(f"a number here has at most {most} bits")
    return value


def _operand(value: Any) -> Any:
    return value if isinstance(value, Abstract) else number(value)


def _exact(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        left, right = _operand(left), _operand(right)
        spend((type(left) is Fraction) + (type(right) is Fraction) + (1 + words(left)) * (1 + words(right)))
        return short(operation(left, right))

    return apply


_sum, product, subtract = _exact(operator.add), _exact(operator.mul), _exact(operator.sub)


def add(left: Any, right: Any) -> Any:
    """Return ``left + right`` for numbers, two lists or two tuples."""
    if type(left) is type(right) and type(left) in (list, tuple):
        spend(1 + len(left) + len(right))
        return made(left + right)
    return _sum(left, right)


def add_in_place(left: Any, right: Any) -> Any:
    """Return the value of ``left += right``; a list is extended in place."""
    if type(left) is list and type(right) in (list, tuple):
        spend(1 + len(right))
        changed(left).extend(right)
        return left
    return add(left, right)


def multiply(left: Any, right: Any) -> Any:
    """Return ``left * right`` for numbers, or for a list or tuple and an int."""
    if type(left) in (list, tuple) or type(right) in (list, tuple):
        several, times = (left, right) if type(left) in (list, tuple) else (right, left)
        spend(1 + len(several) * max(0, whole(times)))
        return made(several * whole(times))
    return product(left, right)


def divide(left: Any, right: Any) -> Any:
    """Return ``left / right``; the quotient of two ints is a fraction."""
    left, right = _operand(left), _operand(right)
    spend((1 + words(left)) * (1 + words(right)))
    return short(Fraction(left, right) if type(left) is type(right) is int else left / right)


def divide_whole(left: Any, right: Any) -> Any:
    """Return ``left // right`` for numbers; ``left`` may also be a symbol."""
    if isinstance(left, Abstract) and hasattr(left, "is_whole"):
        return left // number(right)  # type: ignore[operator]  # that symbol has it
    spend((1 + words(number(left))) * (1 + words(number(right))))
    return number(left) // number(right)


def remainder(left: Any, right: Any) -> Any:
    """Return ``left % right`` for numbers; reject strings."""
    spend((1 + words(number(left))) * (1 + words(number(right))))
    return number(left) % number(right)


def power(base: Any, exponent: Any) -> Any:
    """Return ``base ** exponent`` for an integer exponent; an int with a negative exponent becomes a fraction."""
    try:
        n = whole(exponent)
    except Refused:
        if not isinstance(exponent, Abstract):
            raise
        remedy = "keep it in the state of iterate(...), as (x, power * rate), and state power >= 0 there"
        raise Refused(f"a power whose exponent is a symbol: {remedy}") from None
    if isinstance(base, Abstract):
        return base**n  # type: ignore[operator]  # symbols have it, other quantities refuse
    base = number(base)
    spend(words(n))
    if base in (0, 1, -1) and abs(n) > 3:  # Python would square the base once for each bit of n
        n = (2 + n % 2) * (1 if n > 0 else -1)
    bits = abs(n) * (base.numerator.bit_length() + base.denominator.bit_length() - 1)
    if bits > LARGEST:
        raise Refused(f"a power of about 2^{bits} is too large")
    spend(1 + (bits >> 6) ** 2 // 8)
    return Fraction(base) ** n if n < 0 else base**n


def inner(left: Any, right: Any) -> Any:
    """Return ``left @ right``, the inner product of points."""
    if not isinstance(left, Abstract) or not isinstance(right, Abstract):
        raise Refused("@ is the inner product of two points of functions of a class")
    return left @ right  # type: ignore[operator]  # points have it, other symbols refuse


def negative(value: Any) -> Any:
    """Return ``-value``."""
    spend(1 + words(value))
    return -_operand(value)


def absolute(value: Any, /) -> Any:
    """Return ``abs(value)``; for a symbol, the evaluation branches on its sign."""
    spend(1 + words(value))
    return abs(value if isinstance(value, Abstract) else number(value))


def fraction(numerator: Any = 0, denominator: Any = None) -> Any:
    """Return ``Fraction(numerator, denominator)``, or the fraction in a string such as ``"1/3"``."""
    if type(numerator) is str and denominator is None:
        return Fraction(read(numerator))
    quotient = divide(numerator, 1 if denominator is None else denominator)
    return quotient if isinstance(quotient, Abstract) else Fraction(quotient)


COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def compare(sign: str, left: Any, right: Any) -> Any:
    """Compare two values; return a boolean, or a fact if the values contain symbols.

    Parameters
    ----------
    sign
        One of <, <=, >, >=, ==, !=.
    left, right
        Numbers, symbols, or lists or tuples of them (compared by entry). For == and !=, also strings, None and records.
    """
    spend(1)
    if isinstance(left, Abstract) or isinstance(right, Abstract):
        left, right = _operand(left), _operand(right)
        if sign in COMPARISONS:
            return COMPARISONS[sign](left, right)
        return (left - right).differs() if sign == "!=" else (left - right).is_zero()
    if sign not in COMPARISONS:
        return same(left, right) == (sign == "==")
    if type(left) is type(right) and type(left) in (list, tuple):  # compared like words
        differing = next(((a, b) for a, b in zip(left, right, strict=False) if not same(a, b)), None)
        left, right = (len(left), len(right)) if differing is None else differing
        return compare(sign, left, right)
    spend((1 + words(left)) * (1 + words(right)))
    return COMPARISONS[sign](number(left), number(right))


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal, entry by entry; entries and long strings count as steps."""
    spend(1 + (len(left) >> 4 if type(left) is str else words(left) >> 4))
    if type(left) in (list, tuple) and type(right) is type(left):
        return len(left) == len(right) and all(map(same, left, right))
    if type(left) is type(right) and isinstance(left, Record):
        spend(len(left._fields))
        return same(left._values, right._values)
    if isinstance(left, Abstract) or isinstance(right, Abstract):
        return bool(left == right)  # raises an error
    plain = (int, bool, Fraction, str, type(None), list, tuple)
    for value in (left, right):
        if type(value) not in plain and not isinstance(value, Record):
            raise Refused(f"values of kind {type(value).__name__} are not compared")
    return type(left) not in (list, tuple) and left == right
