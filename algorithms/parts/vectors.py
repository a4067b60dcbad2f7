"""Vectors of eight numbers in loops for ``compiling``, which alone imports them: what a core works on at once.

A compiler makes vector instructions of a plain inner loop. It does not keep a table of results in the core's
registers while an outer loop runs over what adds to them, which is what a product of matrices lives on: here the
table is a tuple of vectors, and every operation is on all of them. Where vectors are shorter, the compiler splits
them. Sums are taken in the order that is written; rounding is that of a fused multiplication and addition where
the processor has it. Compiled loops are kept on disk by the name and age of their own file: after a change here,
touch the files that import this one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.extending import intrinsic

LANES = 8
"""Numbers of a vector."""
LOWEST = -700.0
"""Exponent from which on downwards e^y is e^-700."""
SHIFT = 1.5 * 2.0**52
"""A number so large that adding it rounds to integers, which its last bits then hold."""
SERIES = tuple(1 / math.factorial(order) for order in range(12, -1, -1))
"""Terms of the exponential series, the highest first: 53 bits up to log(2) / 2."""
NUMBERS, BITS = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(ir.IntType(64), LANES)
EXPONENT = 52
"""Bits of a number before its exponent."""
FUSED = ("contract",)


class Vector(types.Type):
    """Eight numbers in double precision."""

    def __init__(self) -> None:
        super().__init__(name="Vector")


VECTOR = Vector()
register: Any = register_default(Vector)
# callers of an operation leave out the first parameter, and are told nothing
operation: Callable[[Callable[..., Any]], Any] = intrinsic
sized_operation: Callable[[Callable[..., Any]], Any] = intrinsic(prefer_literal=True)
unpacked: Any = cgutils.unpack_tuple
tuple_of: Any = types.UniTuple
function_of: Any = cgutils.get_or_insert_function
Build = Callable[..., Any]


@register
class VectorModel(models.PrimitiveModel):
    """How numba holds a vector."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, NUMBERS)  # type: ignore[no-untyped-call]  # numba has no types


@sized_operation
def load(_typing_context: Any, values: Any, _start: Any, _apart: Any, rows: Any, columns: Any) -> Any:
    """Give a table of vectors (rows, columns), two literals, of an array (n,).

    The vectors of a row follow each other; the first row begins at the start, and rows are that far apart.
    """
    height, width = rows.literal_value, columns.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = _places(context, builder, signature, arguments, height, width)
        found = [builder.load(place, align=8) for place in places]
        return context.make_tuple(builder, signature.return_type, found)

    return tuple_of(VECTOR, height * width)(values, types.intp, types.intp, rows, columns), generate


@sized_operation
def store(_typing_context: Any, values: Any, _start: Any, _apart: Any, rows: Any, vectors: Any) -> Any:
    """Write a table of vectors with ``rows`` rows, a literal, to an array (n,), see ``load``."""
    height, width = rows.literal_value, len(vectors) // rows.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = _places(context, builder, signature, arguments, height, width)
        for vector, place in zip(unpacked(builder, arguments[4]), places, strict=True):
            builder.store(vector, place, align=8)
        return context.get_dummy_value()

    return types.none(values, types.intp, types.intp, rows, vectors), generate


@sized_operation
def spread(_typing_context: Any, values: Any, _start: Any, count: Any) -> Any:
    """Give ``count`` vectors, a literal, each eight times one number: those of an array (n,) from a place on."""
    size = count.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, _ = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        nothing = ir.Constant(NUMBERS, ir.Undefined)
        first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
        found = []
        for number in range(size):
            one = builder.load(builder.gep(data, [builder.add(index, ir.Constant(index.type, number))]))
            filled = builder.insert_element(nothing, one, ir.IntType(32)(0))
            found.append(builder.shuffle_vector(filled, nothing, first))
        return context.make_tuple(builder, signature.return_type, found)

    return tuple_of(VECTOR, size)(values, types.intp, count), generate


@operation
def add_outer(_typing_context: Any, table: Any, left: Any, right: Any) -> Any:
    """Give table (a, b) + left (a,) times right (b,), lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held, rows, columns = (unpacked(builder, given) for given in arguments)
        pairs = [(row, column) for row in rows for column in columns]
        found = [_added_product(builder, *pair, one) for pair, one in zip(pairs, held, strict=True)]
        return context.make_tuple(builder, signature.return_type, found)

    return table(table, left, right), generate


@operation
def add(_typing_context: Any, one: Any, other: Any) -> Any:
    """Add vectors (a,)."""
    return one(one, other), _each(lambda builder, p, q: builder.fadd(p, q))


@operation
def subtract(_typing_context: Any, one: Any, other: Any) -> Any:
    """Subtract vectors (a,)."""
    return one(one, other), _each(lambda builder, p, q: builder.fsub(p, q))


@operation
def multiply(_typing_context: Any, one: Any, other: Any) -> Any:
    """Multiply vectors (a,) lane by lane."""
    return one(one, other), _each(lambda builder, p, q: builder.fmul(p, q))


@operation
def invert(_typing_context: Any, one: Any) -> Any:
    """Give 1 over each number of vectors (a,)."""
    # without the fence, what is multiplied by the outcome is divided instead, number by number
    return one(one), _each(lambda builder, p: _fence(builder, builder.fdiv(_all(1.0), p)))


@operation
def store_sums(_typing_context: Any, values: Any, _start: Any, vectors: Any) -> Any:
    """Write the sum of the numbers of each of the vectors (a,) to an array (n,), from a place on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, given = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        for vector in unpacked(builder, given):
            size = LANES
            while size > 1:
                size //= 2
                low, high = (
                    ir.Constant(ir.VectorType(ir.IntType(32), size), list(range(first, first + size)))
                    for first in (0, size)
                )
                nothing = ir.Constant(vector.type, ir.Undefined)
                halves = (builder.shuffle_vector(vector, nothing, half) for half in (low, high))
                vector = builder.fadd(*halves)
            builder.store(builder.extract_element(vector, ir.IntType(32)(0)), builder.gep(data, [index]))
            index = builder.add(index, ir.Constant(index.type, 1))
        return context.get_dummy_value()

    return types.none(values, types.intp, vectors), generate


@operation
def larger(_typing_context: Any, one: Any, other: Any) -> Any:
    """Give the larger of the numbers of vectors (a,), and the first where they cannot be compared."""
    return one(one, other), _each(_larger)


@operation
def exponential(_typing_context: Any, one: Any) -> Any:
    """Give e^y of vectors (a,) of numbers y <= 0; what is not finite becomes no number."""
    return one(one), _each(_exponential)


def _each(build: Build) -> Build:
    """Make the code of an operation on tuples of that on one vector of each."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        parts = (unpacked(builder, given) for given in arguments)
        found = [build(builder, *vectors) for vectors in zip(*parts, strict=True)]
        return context.make_tuple(builder, signature.return_type, found)

    return generate


def _places(context: Any, builder: Any, signature: Any, arguments: Any, rows: int, columns: int) -> list[Any]:
    """Where the vectors of a table lie."""
    array, start, apart = arguments[:3]
    data = context.make_array(signature.args[0])(context, builder, array).data
    found = []
    for _ in range(rows):
        for column in range(columns):
            index = builder.add(start, ir.Constant(start.type, column * LANES))
            found.append(builder.bitcast(builder.gep(data, [index]), NUMBERS.as_pointer()))
        start = builder.add(start, apart)
    return found


def _all(value: float) -> Any:
    return ir.Constant(NUMBERS, [value] * LANES)


def _added_product(builder: Any, one: Any, other: Any, start: Any) -> Any:
    return builder.fadd(builder.fmul(one, other, flags=FUSED), start, flags=FUSED)


def _larger(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", one, other), other, one)


def _fence(builder: Any, vector: Any) -> Any:
    """Keep sums and products on one side from being joined with those on the other, as sums in any order may be."""
    kind, name = ir.FunctionType(NUMBERS, [NUMBERS]), f"llvm.arithmetic.fence.v{LANES}f64"
    return builder.call(function_of(builder.module, kind, name), [vector])


def _exponential(builder: Any, y: Any) -> Any:
    """2^k e^r with |r| <= log(2) / 2; k is added to the exponent's bits of the series."""
    y = _larger(builder, y, _all(LOWEST))
    shifted = _fence(builder, _added_product(builder, y, _all(1 / math.log(2)), _all(SHIFT)))
    k = builder.fsub(shifted, _all(SHIFT))
    r = _added_product(builder, k, _all(-math.log(2)), y)
    found = _all(SERIES[0])
    for term in SERIES[1:]:
        found = _added_product(builder, found, r, _all(term))
    places = ir.Constant(BITS, [EXPONENT] * LANES)
    raised = builder.shl(builder.bitcast(shifted, BITS), places)
    return builder.bitcast(builder.add(builder.bitcast(found, BITS), raised), NUMBERS)
