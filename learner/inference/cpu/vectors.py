"""Sixteen floats at a time, for kernels whose loops do not become good vector instructions by themselves.

A compiler works on vectors where an innermost loop is long. The loops of attention are as short as a head is wide, and
their sums want to stay in registers from one loop to the next, which takes code that names its vectors. To a debugger
(``NUMBA_DISABLE_JIT=1``) each function here is the plain Python it is written in, on ``float32[16]``; in a kernel it is
a few instructions of whatever vectors the processor has. Places in arrays are counted in numbers from an array's
beginning, whatever its shape; arrays are C-contiguous, and nothing checks bounds.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import lower_builtin, models, register_model, type_callable

LANES = 16
"""Numbers of a vector."""
LOG2_E = math.log2(math.e)
POWER_OF_TWO = (1.8775767e-3, 8.9893397e-3, 5.5826318e-2, 2.4015361e-1, 6.9315308e-1, 9.9999994e-1)
"""Polynomial that is 2 to the power of 0 .. 1, highest coefficient first (relative error below 3e-7)."""

_HALF, _INT, _FLOAT = ir.IntType(16), ir.IntType(32), ir.FloatType()
_HALVES, _INTS, _FLOATS = (ir.VectorType(element, LANES) for element in (_HALF, _INT, _FLOAT))
_FUSED = ("contract",)
"""A product and a sum may be one instruction."""


class _Vector(types.Type):
    def __init__(self) -> None:
        super().__init__(name="float32x16")


_vector = _Vector()


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _Vector) -> None:
        super().__init__(manager, kind, _FLOATS)


def _in_kernels(plain: Callable, result: Any, *kinds: Any) -> Callable[[Callable], Callable]:
    """What a kernel takes for ``plain``, of arguments of ``kinds``: the instructions that the decorated function
    builds."""

    def typed(*arguments: Any) -> Any:
        return result

    typed.__signature__ = inspect.signature(plain)  # type: ignore[attr-defined]
    type_callable(plain)(lambda context: typed)
    return lower_builtin(plain, *kinds)  # type: ignore[no-any-return]


# ---- memory

_ARRAY, _PLACE = types.Array, types.Integer


def load(array, at):
    """The 16 numbers from ``at`` on, of float32 or of bfloat16 bits (``uint16``)."""
    numbers = array.reshape(-1)[at : at + LANES]
    return (numbers.astype(np.uint32) << 16).view(np.float32) if array.dtype == np.uint16 else numbers.copy()


def store(array, at, vector):
    """Put the numbers there; bfloat16 is rounded to nearest, ties to even."""
    flat = array.reshape(-1)
    if array.dtype == np.uint16:
        bits = vector.view(np.uint32)
        flat[at : at + LANES] = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    else:
        flat[at : at + LANES] = vector


def transpose(array, at, stride, out, to, step):
    """16 x 16 numbers, rows of ``array`` that begin ``stride`` apart, become columns of the float32 ``out``, whose rows
    begin ``step`` apart."""
    for row in range(LANES):
        for column, number in enumerate(load(array, at + row * stride)):
            out.reshape(-1)[to + column * step + row] = number


@_in_kernels(load, _vector, _ARRAY, _PLACE)
def _build_load(context, builder, signature, arguments):
    return _load(context, builder, signature.args[0], *arguments)


@_in_kernels(store, types.void, _ARRAY, _PLACE, _Vector)
def _build_store(context, builder, signature, arguments):
    _store(context, builder, signature.args[0], *arguments)
    return context.get_dummy_value()


@_in_kernels(transpose, types.void, _ARRAY, _PLACE, _PLACE, _ARRAY, _PLACE, _PLACE)
def _build_transpose(context, builder, signature, arguments):
    array, at, stride, out, to, step = arguments
    rows = []
    for _ in range(LANES):
        rows.append(_load(context, builder, signature.args[0], array, at))
        at = builder.add(at, stride)
    width = 1
    while width < LANES:  # swaps blocks of numbers off the diagonal, twice as wide every time
        for row in range(LANES):
            if not row & width:
                rows[row], rows[row | width] = _swapped(builder, rows[row], rows[row | width], width)
        width *= 2
    for row in rows:
        _store(context, builder, signature.args[3], out, to, row)
        to = builder.add(to, step)
    return context.get_dummy_value()


def _load(context, builder, kind, array, at):
    if kind.dtype == types.float32:
        return builder.load(_pointer(context, builder, kind, array, at, _FLOATS), align=4)
    bits = builder.load(_pointer(context, builder, kind, array, at, _HALVES), align=2)
    return builder.bitcast(builder.shl(builder.zext(bits, _INTS), _ints(16)), _FLOATS)


def _store(context, builder, kind, array, at, vector):
    if kind.dtype == types.float32:
        builder.store(vector, _pointer(context, builder, kind, array, at, _FLOATS), align=4)
        return
    bits = builder.bitcast(vector, _INTS)
    odd = builder.and_(builder.lshr(bits, _ints(16)), _ints(1))
    bits = builder.lshr(builder.add(builder.add(bits, _ints(0x7FFF)), odd), _ints(16))
    builder.store(builder.trunc(bits, _HALVES), _pointer(context, builder, kind, array, at, _HALVES), align=2)


def _pointer(context, builder, kind, array, at, vectors):
    if kind.layout != "C" or kind.dtype not in (types.float32, types.uint16):
        raise TypeError(f"vectors of {kind}: only C-contiguous float32 and uint16 arrays have them")
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), vectors.as_pointer())


def _swapped(builder, upper, lower, width):
    lanes = range(LANES)
    first = [LANES + (lane ^ width) if lane & width else lane for lane in lanes]
    second = [LANES + lane if lane & width else lane ^ width for lane in lanes]
    return _shuffled(builder, upper, lower, first), _shuffled(builder, upper, lower, second)


# ---- arithmetic


def splat(number):
    """One float32 sixteen times."""
    return np.full(LANES, number, np.float32)


def add(x, y):
    """x + y"""
    return x + y


def subtract(x, y):
    """x - y"""
    return x - y


def multiply(x, y):
    """x y"""
    return x * y


def multiply_add(x, y, z):
    """x y + z"""
    return x * y + z


def larger(x, y):
    """The larger number of each lane."""
    return np.maximum(x, y)


def exp2(x):
    """2 to the power of x, at most 127; exactly 0 below -126 (relative error below 3e-7)."""
    return np.exp2(np.maximum(x, np.float32(-127.0))) * (x >= -126.0)


@_in_kernels(splat, _vector, types.Float)
def _build_splat(context, builder, signature, arguments):
    undefined = ir.Constant(_FLOATS, ir.Undefined)
    number = context.cast(builder, arguments[0], signature.args[0], types.float32)
    return _shuffled(builder, builder.insert_element(undefined, number, _INT(0)), undefined, [0] * LANES)


@_in_kernels(add, _vector, _Vector, _Vector)
def _build_add(context, builder, signature, arguments):
    return builder.fadd(*arguments)


@_in_kernels(subtract, _vector, _Vector, _Vector)
def _build_subtract(context, builder, signature, arguments):
    return builder.fsub(*arguments)


@_in_kernels(multiply, _vector, _Vector, _Vector)
def _build_multiply(context, builder, signature, arguments):
    return builder.fmul(*arguments)


@_in_kernels(multiply_add, _vector, _Vector, _Vector, _Vector)
def _build_multiply_add(context, builder, signature, arguments):
    return _multiply_add(builder, *arguments)


@_in_kernels(larger, _vector, _Vector, _Vector)
def _build_larger(context, builder, signature, arguments):
    return _larger(builder, *arguments)


@_in_kernels(exp2, _vector, _Vector)
def _build_exp2(context, builder, signature, arguments):
    function = ir.FunctionType(_FLOATS, [_FLOATS])
    floor = cgutils.get_or_insert_function(builder.module, function, f"llvm.floor.v{LANES}f32")
    x = _larger(builder, arguments[0], _floats(-127.0))
    whole = builder.call(floor, [x])
    rest, power = builder.fsub(x, whole), _floats(POWER_OF_TWO[0])
    for coefficient in POWER_OF_TWO[1:]:
        power = _multiply_add(builder, power, rest, _floats(coefficient))
    exponent = builder.shl(builder.add(builder.fptosi(whole, _INTS), _ints(127)), _ints(23))
    return builder.fmul(power, builder.bitcast(exponent, _FLOATS))


def _multiply_add(builder, x, y, z):
    return builder.fadd(builder.fmul(x, y, flags=_FUSED), z, flags=_FUSED)


def _larger(builder, x, y):
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


# ---- one number of sixteen


def total(x):
    """Their sum."""
    return x.sum()


def largest(x):
    """The largest of them."""
    return x.max()


@_in_kernels(total, types.float32, _Vector)
def _build_total(context, builder, signature, arguments):
    return _folded(builder, arguments[0], builder.fadd)


@_in_kernels(largest, types.float32, _Vector)
def _build_largest(context, builder, signature, arguments):
    return _folded(builder, arguments[0], lambda x, y: _larger(builder, x, y))


def _folded(builder, vector, both):
    width = LANES // 2
    while width:
        other = [lane ^ width for lane in range(LANES)]
        vector = both(vector, _shuffled(builder, vector, vector, other))
        width //= 2
    return builder.extract_element(vector, _INT(0))


def _shuffled(builder, x, y, lanes):
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_INT, len(lanes)), lanes))


def _floats(number):
    return ir.Constant(_FLOATS, [float(np.float32(number))] * LANES)


def _ints(number):
    return ir.Constant(_INTS, [number] * LANES)
