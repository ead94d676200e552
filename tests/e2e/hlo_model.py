"""Functions in JAX, lowered to HLO: `python hlo_model.py FOLDER [GROUP...]` writes a folder for each group of
functions, with the module, its inputs, what JAX gives for them, and the names of the results. Of each group there is
the module as JAX makes it, and as XLA has optimized it for the CPU: with fusions, layouts and bitcasts."""

import json
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
# Compiling takes the time here, not running.
os.environ["XLA_FLAGS"] = " ".join([
    "--xla_force_host_platform_device_count=4", "--xla_backend_optimization_level=0", "--xla_llvm_disable_expensive_passes=true"])

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import jax_gpt_step  # noqa: E402

BF16 = ml_dtypes.bfloat16
HIGHEST = lax.Precision.HIGHEST
numbers = np.random.default_rng(7)
groups = {}


def case(group, name, function, *arguments):
    groups.setdefault(group, {})[name] = (function, arguments)


def floats(*shape, low=-2.0, high=2.0, dtype=np.float32):
    return numbers.uniform(low, high, shape).astype(dtype)


def integers(*shape, low=-9, high=10, dtype=np.int32):
    return numbers.integers(low, high, shape).astype(dtype)


def booleans(*shape):
    return numbers.integers(0, 2, shape).astype(bool)


def values(dtype, *shape):
    kind = np.dtype(dtype).kind
    return integers(*shape, low=0 if kind == "u" else -9, dtype=dtype) if kind in "iu" else floats(*shape, dtype=dtype)


def elements():
    functions = {
        "exp": jnp.exp, "tanh": jnp.tanh, "logistic": jax.nn.sigmoid, "expm1": jnp.expm1, "sin": jnp.sin,
        "cos": jnp.cos, "tan": jnp.tan, "erf": lax.erf, "abs": jnp.abs, "sign": jnp.sign, "floor": jnp.floor,
        "ceil": jnp.ceil, "round_even": lambda x: lax.round(x * 2, lax.RoundingMethod.TO_NEAREST_EVEN),
        "round_away": lambda x: lax.round(x * 2, lax.RoundingMethod.AWAY_FROM_ZERO), "negate": lambda x: -x,
        "is_finite": lambda x: jnp.isfinite(1 / x), "cbrt": lax.cbrt, "asin": lambda x: jnp.arcsin(x / 3),
        "sinh": jnp.sinh, "gelu": jax.nn.gelu, "silu": jax.nn.silu, "softplus": jax.nn.softplus,
    }
    x = floats(7, 13)
    x[0, 0] = 0
    for name, function in functions.items():
        case("elements", name, function, x)
    positive = floats(129, 3, low=0.01, high=9)
    for name, function in {"log": jnp.log, "log1p": jnp.log1p, "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt}.items():
        case("elements", name, function, positive)
    for dtype in (BF16, np.float16):
        case("elements", f"unary_{np.dtype(dtype).name}", lambda x: (jnp.exp(x), jnp.tanh(x), -x, jnp.abs(x)),
             floats(3, 5, dtype=dtype))
    case("elements", "power", lambda x, y: (x**y, lax.atan2(x, y)), floats(5, 9, low=0.1, high=3), floats(5, 9))
    case("elements", "clamp", lambda x, y: (lax.clamp(-1.0, x, 1.0), jnp.clip(x, y - 2, y + 2)), floats(4, 5), floats(4, 1))
    case("elements", "select", lambda c, x, y: (jnp.where(c, x, y), lax.select(x[0, 0] > 0, x, y)), booleans(4, 5),
         floats(4, 5), floats(4, 5))
    case("elements", "not_numbers", lambda x, y: (x == y, x != y, x < y, x >= y, jnp.maximum(x, y), jnp.minimum(x, y)),
         np.array([1, np.nan, np.inf, -0.0], np.float32), np.array([np.nan, np.nan, np.inf, 0], np.float32))


def arithmetic():
    for dtype in (np.float32, BF16, np.float16, np.int32, np.int8, np.uint8, np.uint32, np.int16):
        divisor = values(dtype, 11, 3)
        divisor[divisor == 0] = 1
        case("arithmetic", f"binary_{np.dtype(dtype).name}",
             lambda x, y: (x + y, x - y, x * y, lax.div(x, y), lax.rem(x, y), jnp.maximum(x, y), jnp.minimum(x, y)),
             values(dtype, 11, 3), divisor)
        case("arithmetic", f"compare_{np.dtype(dtype).name}", lambda x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y),
             values(dtype, 11, 3), values(dtype, 11, 3))
    case("arithmetic", "signed", lambda x: (jnp.abs(x), jnp.sign(x), -x), integers(5, 7))
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32):
        case("arithmetic", f"bits_{np.dtype(dtype).name}", lambda x: (~x, lax.population_count(x), lax.clz(x)),
             values(dtype, 5, 7))
    case("arithmetic", "bits", lambda x, y: (
        x & y, x | y, x ^ y, lax.shift_left(x, jnp.abs(y)), lax.shift_right_arithmetic(x, jnp.abs(y)),
        lax.shift_right_logical(x, jnp.abs(y)), lax.bitcast_convert_type(x, jnp.uint32)),
        integers(5, 7, low=-2**31, high=2**31 - 1), integers(5, 7, low=-40, high=40))
    case("arithmetic", "booleans", lambda x, y: (~x, x & y, x | y, x ^ y, x == y, x != y, jnp.where(x, 1.0, 2.0)),
         booleans(9), booleans(9))
    case("arithmetic", "to_types", lambda x: tuple(x.astype(t) for t in (
        jnp.int32, jnp.bfloat16, jnp.float16, jnp.uint8, bool, jnp.int8)), floats(4, 5, low=0, high=100))
    case("arithmetic", "to_types_edges", lambda x: tuple(x.astype(t) for t in (jnp.int32, jnp.uint8, jnp.int8)),
         np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 300, -300, 0.5, -0.5, 1.5, 2.5], np.float32))
    case("arithmetic", "from_integers", lambda x: tuple(x.astype(t) for t in (
        jnp.float32, jnp.int8, jnp.uint32, jnp.uint16, bool, jnp.bfloat16)), integers(4, 5, low=-2**31, high=2**31 - 1))
    case("arithmetic", "from_booleans", lambda x: (x.astype(jnp.float32), x.astype(jnp.int32)), booleans(9))
    patterns = integers(400, low=-2**31, high=2**31 - 1)
    edges = np.array([0, -2**31, 1, 2, 0x7F800000, 0x7F7FFFFF, 0x00800000, 0x007FFFFF, 0x3F800000, 0x3F7FFFFF, -1 << 23], np.int32)
    for integer, number in ((np.int32, np.float32), (np.uint16, np.float16), (np.int16, BF16)):
        width = np.dtype(integer).itemsize
        bits = np.concatenate([edges, patterns]).view(integer)[:: 4 // width]
        held = bits[np.isfinite(bits.view(number).astype(np.float32))].view(number)
        case("arithmetic", f"from_bits_{width}_{np.dtype(number).name}", lambda x, to=number: lax.bitcast_convert_type(x, to), bits)
        case("arithmetic", f"to_bits_{np.dtype(number).name}", lambda x, to=integer: lax.bitcast_convert_type(x, to), held)
        case("arithmetic", f"total_order_{np.dtype(number).name}", lambda x, y: (lax.lt_to_p.bind(x, y), lax.le_to_p.bind(x, y)), held[:-1], held[1:])
    case("arithmetic", "uniform", lambda k: jax.random.uniform(jax.random.wrap_key_data(k), (5,)), np.array([1, 2], np.uint32))
    case("arithmetic", "precision", lambda x: (lax.reduce_precision(x, 8, 7), lax.reduce_precision(x, 5, 10)), floats(4, 5))


def reductions():
    shapes = [((3, 5), 0), ((3, 5), 1), ((2, 3, 4, 5), (1, 3)), ((300,), 0), ((129, 5, 7), 0), ((4, 600), 1),
              ((2, 3), (0, 1)), ((1, 7), 0)]
    for i, (shape, axes) in enumerate(shapes):
        case("reductions", f"floats_{i}", lambda x, axes=axes: (x.sum(axes), x.max(axes), x.min(axes), x.prod(axes)),
             floats(*shape))
    case("reductions", "integers", lambda x: (
        x.sum(1), x.max(0), x.min(), lax.reduce(x, np.int32(0), lax.bitwise_xor, (1,)),
        lax.reduce(x, np.int32(-1), lax.bitwise_and, (1,))), integers(5, 9))
    case("reductions", "booleans", lambda x: (x.any(1), x.all(0), x.sum()), booleans(5, 9))
    case("reductions", "initial", lambda x: lax.reduce(x, np.float32(3.5), lax.add, (1,)), floats(5, 9))
    case("reductions", "bfloat16", lambda x: (x.sum(1), x.max(1)), floats(5, 90, dtype=BF16))
    case("reductions", "argmax", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(x)), floats(5, 9))
    case("reductions", "argmax_equal", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), integers(6, 13, low=0, high=3))
    case("reductions", "softmax", lambda x: (jax.nn.softmax(x), jax.nn.log_softmax(x, 0), jax.nn.logsumexp(x, 1)),
         floats(5, 9))
    case("reductions", "max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"),
         floats(2, 7, 7, 3))
    case("reductions", "mean_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") / 9,
         floats(2, 7, 7, 3))
    case("reductions", "max_pool_gradient", jax.grad(lambda x: (
        lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2).sum()), floats(2, 7, 7, 3))
    case("reductions", "window_dilated", lambda x: lax.reduce_window(
        x, 0.0, lax.add, (2, 3), (1, 2), ((1, 0), (2, 2)), base_dilation=(2, 1), window_dilation=(1, 2)), floats(5, 9))
    combined = ((5.0, lax.add), (3.0, lax.mul), (1.0, lax.max), (-1.0, lax.min), (2.0, lambda a, b: a + b + a * b))
    for dtype in (np.float32, np.int32):
        case("reductions", f"window_initial_{np.dtype(dtype).name}", lambda x: tuple(
            lax.reduce_window(x, np.array(initial, x.dtype), operation, (2, 2), (1, 1), padding, base_dilation=(dilation, 1))
            for initial, operation in combined for padding, dilation in (("SAME", 1), ("VALID", 2), (((2, 0), (0, 0)), 1))),
            values(dtype, 4, 6))
    case("reductions", "window_of_bits", lambda x, y: (
        lax.reduce_window(x, np.uint8(7), lax.bitwise_and, (2,), (1,), "SAME"), lax.reduce_window(x, np.uint8(9), lax.bitwise_xor, (3,), (1,), "SAME"),
        lax.reduce_window(y, False, lax.bitwise_or, (2,), (1,), "SAME"), lax.reduce_window(y, True, lax.bitwise_and, (2,), (1,), "SAME")),
        integers(9, low=0, high=255, dtype=np.uint8), booleans(9))
    case("reductions", "window_given_initial", lambda x, initial: lax.reduce_window(x, initial, lax.add, (2, 2), (1, 1), "SAME"),
         floats(4, 6), np.float32(5))
    def composed(a, b):  # of functions: associative, not commutative
        return a[0] * b[0], a[1] * b[0] + b[1]
    case("reductions", "in_order", lambda x, y: (
        lax.reduce((x, y), (np.int32(1), np.int32(0)), composed, (1,)), lax.reduce((x, y), (np.int32(1), np.int32(0)), composed, (0, 2)),
        lax.reduce_window((x, y), (np.int32(1), np.int32(0)), composed, (2, 3, 2), (1, 1, 1), "VALID"),
        lax.reduce_window((x, y), (np.int32(1), np.int32(0)), composed, (1, 11, 1), (1, 1, 1), "SAME")), integers(3, 13, 5), integers(3, 13, 5))
    case("reductions", "cumulative", lambda x: (
        jnp.cumsum(x, 1), jnp.cumsum(x[::-1], 0), lax.cumsum(x, 1, reverse=True), lax.cummax(x, 1)), floats(3, 37))


def dots():
    products = ["ij,jk->ik 5,7 7,3", "bij,bjk->bik 3,5,7 3,7,2", "ij,kj->ik 130,70 33,70", "ji,jk->ik 7,5 7,3",
                "bqhd,bkhd->bhqk 2,5,3,4 2,6,3,4", "i,j->ij 5 7", "i,i-> 65 65", "abij,abjk->abik 2,3,4,5 2,3,5,2",
                "iab,abj->ij 3,4,5 4,5,6", "ij,jk->ik 200,300 300,150"]
    for product in products:
        form, left, right = product.split()
        case("dots", form + left, lambda x, y, form=form: jnp.einsum(form, x, y, precision=HIGHEST),
             floats(*eval(f"({left},)")), floats(*eval(f"({right},)")))
    case("dots", "bfloat16", lambda x, y: (x @ y, jnp.matmul(x, y, preferred_element_type=jnp.float32)),
         floats(9, 40, dtype=BF16), floats(40, 6, dtype=BF16))
    case("dots", "integers", lambda x, y: x @ y, integers(5, 7), integers(7, 3))
    case("dots", "int8", lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.int32), integers(5, 7, dtype=np.int8),
         integers(7, 3, dtype=np.int8))
    case("dots", "layers", lambda x, w, v: jax.nn.relu(x @ w) @ v, floats(33, 17), floats(17, 65), floats(65, 9))


def convolutions():
    nchw, nhwc = ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")

    def convolution(name, input_shape, kernel_shape, strides, padding, layout, with_gradient=False, **options):
        def apply(x, w):
            return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=layout, precision=HIGHEST, **options)
        arguments = floats(*input_shape), floats(*kernel_shape)
        case("convolutions", name, apply, *arguments)
        if with_gradient:
            case("convolutions", name + "_gradient", jax.grad(lambda x, w: (apply(x, w) ** 2).sum(), argnums=(0, 1)), *arguments)

    convolution("nchw", (2, 3, 7, 6), (4, 3, 3, 3), (2, 1), "SAME", nchw, with_gradient=True)
    convolution("nhwc", (2, 7, 6, 3), (3, 3, 3, 4), (2, 1), "VALID", nhwc)
    convolution("dilated", (1, 9, 8, 2), (3, 2, 2, 5), (2, 2), [(2, 1), (0, 3)], nhwc, rhs_dilation=(2, 1), lhs_dilation=(1, 2))
    convolution("groups", (2, 4, 5, 5), (4, 2, 3, 3), (1, 1), "SAME", nchw, with_gradient=True, feature_group_count=2)
    convolution("depthwise", (2, 4, 7, 7), (4, 1, 3, 3), (1, 1), "SAME", nchw, feature_group_count=4)
    convolution("batch_groups", (4, 3, 5, 5), (6, 3, 3, 3), (1, 1), "VALID", nchw, batch_group_count=2)
    convolution("line", (2, 3, 20), (5, 3, 4), (3,), [(1, 2)], ("NCH", "OIH", "NCH"))
    convolution("cropped", (1, 2, 8, 8), (3, 2, 3, 3), (1, 1), [(-1, 0), (0, -2)], nchw)


def shapes():
    x = floats(3, 5)
    case("shapes", "broadcast", lambda x: (jnp.broadcast_to(x, (4, 3, 5)), jnp.broadcast_to(x[:, None, :], (3, 6, 5))), x)
    case("shapes", "reshape", lambda x: (x.reshape(5, 3), x.reshape(-1), x.T.reshape(3, 5), x[:, None]), x)
    case("shapes", "transpose", lambda x: (x.transpose(2, 0, 1), x.transpose(1, 0, 2), x.transpose(0, 2, 1)), floats(3, 5, 7))
    case("shapes", "slices", lambda x: (x[1:3, ::2], x[::-1], x[:, -3:], x[2, 3], x[::2, ::-1]), floats(5, 9))
    case("shapes", "reverse", lambda x: jnp.flip(x, (0, 2)), floats(3, 4, 5))
    case("shapes", "dynamic_slice", lambda x, a, c: (
        lax.dynamic_slice(x, (a, c), (2, 3)), lax.dynamic_slice(x, (a, 1), (2, 3)), x[a]),
        floats(7, 9), np.int32(2), np.int32(40))
    case("shapes", "dynamic_update", lambda x, u, a: (
        lax.dynamic_update_slice(x, u, (a, 2)), x.at[a].set(1.0), lax.dynamic_update_slice(x, u, (1, 3))),
        floats(7, 9), floats(2, 3), np.int32(3))
    case("shapes", "concatenate", lambda x, y: (jnp.concatenate([x, y, x], 1), jnp.stack([x, x])), floats(3, 4), floats(3, 2))
    case("shapes", "pad", lambda x: (
        lax.pad(x, 1.5, ((1, 2, 0), (0, 1, 2))), lax.pad(x, 0.0, ((-1, 2, 0), (1, -1, 1))),
        lax.pad(x, x[0, 0], ((1, 1, 0), (0, 0, 0))), lax.pad(x, -jnp.inf, ((1, 2, 0), (0, 1, 2)))), floats(4, 5))
    case("shapes", "iota", lambda x: (jnp.arange(7) + x, lax.broadcasted_iota(jnp.float32, (3, 4), 1) + x), np.int32(2))
    case("shapes", "constants", lambda x: (
        x + np.arange(15, dtype=np.float32).reshape(3, 5), np.array([[1, 2], [3, -4]], np.int32) * x[0, 0].astype(int),
        np.arange(5, dtype=np.uint8), jnp.zeros(3), np.array([True, False]), np.array([1.5, -2], np.float16),
        np.array([0.1, 3], BF16)), x)
    case("shapes", "scalars", lambda x, y: x * y + 1, np.float32(2), np.float32(3))
    case("shapes", "unchanged", lambda x: x, floats(3))


def indexing():
    table = floats(10, 4)
    case("indexing", "take", lambda t, i: (
        jnp.take(t, i, axis=0), t[i], jnp.take(t, i, axis=0, mode="clip"), jnp.take(t, i, axis=0, mode="wrap")), table,
        integers(3, 2, low=0, high=9))
    case("indexing", "take_outside", lambda t, i: (jnp.take(t, i, axis=0), t[i], jnp.take(t, i, axis=0, mode="clip")),
         table, integers(3, 2, low=-15, high=15))
    case("indexing", "take_columns", lambda t, i: jnp.take(t, i, axis=1), floats(3, 10, 5), integers(4, low=0, high=9))
    case("indexing", "pairs", lambda t, i, j: (t[i, j], t[:, j]), table, integers(3, low=0, high=9), integers(3, low=0, high=3))
    case("indexing", "along_axis", lambda t, i: jnp.take_along_axis(t, i, axis=1), table, integers(10, 2, low=0, high=3))
    case("indexing", "windows", lambda t, i: jax.vmap(lambda k: lax.dynamic_slice(t, (k, 1), (2, 3)))(i), table,
         integers(5, low=0, high=12))
    case("indexing", "small_indices", lambda t, i: jnp.take(t, i, axis=0), floats(300, 4),
         integers(5, low=0, high=255, dtype=np.uint8))
    case("indexing", "one_hot", lambda i: jax.nn.one_hot(i, 7), integers(5, low=0, high=7))
    case("indexing", "add", lambda t, i, u: t.at[i].add(u), table, integers(5, low=-12, high=14), floats(5, 4))
    case("indexing", "add_pairs", lambda t, i, u: t.at[i, i % 4].add(u), table, integers(5, low=0, high=9), floats(5))
    case("indexing", "set", lambda t, i, u: (
        t.at[i].set(u), t.at[i, 1].set(7.0), t.at[jnp.array([1, 3]), 2].set(0.0, unique_indices=True)), table,
        integers(5, low=0, high=4), floats(5, 4))
    case("indexing", "set_integers", lambda t, i: (t.at[i].add(3), t.at[i].set(5)), integers(9), integers(4, low=0, high=9))
    case("indexing", "set_booleans", lambda t, i: t.at[i].set(True), booleans(9), integers(4, low=0, high=9))
    case("indexing", "take_gradient", jax.grad(lambda t, i: (t[i] ** 2).sum()), table, integers(3, 2, low=0, high=9))
    case("indexing", "along_axis_gradient", jax.grad(lambda t, i: (jnp.take_along_axis(t, i, axis=1) ** 2).sum()), table,
         integers(10, 1, low=0, high=3))


def control():
    case("control", "for", lambda x: lax.fori_loop(2, 7, lambda k, x: x * k + 1, x), floats(3, 4))
    case("control", "nested", lambda x: lax.fori_loop(
        0, 3, lambda k, x: lax.fori_loop(0, 2, lambda m, x: x + m * k, x), x), floats(3, 4))
    case("control", "while", lambda x: lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] - 2, s[1] * 1.5), (9, x)), floats(3))
    case("control", "scan", lambda x: lax.scan(lambda c, y: (c + y, c * y), x[0], x), floats(6, 4))
    case("control", "scan_backwards", lambda x: lax.scan(lambda c, y: (c + y, c * y), x[0], x, reverse=True), floats(6, 4))
    case("control", "scan_gradient", jax.grad(lambda w, x: lax.scan(
        lambda c, y: (jnp.tanh(c @ w + y), None), x[0], x)[0].sum()), floats(4, 4), floats(5, 4))
    case("control", "cond", lambda x: tuple(
        lax.cond(x[0, i] > 0, lambda x: x + 1, lambda x: x * 2, x) for i in range(4)), floats(3, 4))
    case("control", "switch", lambda k, x: (
        lax.switch(k, [lambda x: x, lambda x: x + 1, lambda x: x * 2], x), lax.switch(1, [lambda x: x, lambda x: x + 1], x)),
        np.int32(5), floats(3))
    case("control", "trees", lambda d: {"a": (d["x"] + 1, [d["y"]]), "b": d["x"]}, {"x": floats(3), "y": floats(2)})
    case("control", "barrier", lambda x: lax.optimization_barrier((x, x + 1)), floats(3))
    case("control", "checkpoint", jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum()), floats(3))


def leaf_name(path):
    return "/".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path)


def write(folder, module, ranks):
    """ranks: for each the inputs and the results, as lists of leaves with their paths."""
    folder.mkdir(parents=True)
    (folder / "model.hlo.pb").write_bytes(module.as_serialized_hlo_module_proto())
    for rank, (inputs, results) in enumerate(ranks):
        for i, array in enumerate(jax.tree.leaves(inputs)):
            (folder / f"input{i}.{rank}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
        names = []
        for i, (path, array) in enumerate(jax.tree_util.tree_leaves_with_path(results)):
            array = np.asarray(array)
            (folder / f"expected{i}.{rank}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
            names.append({"name": leaf_name(path), "dtype": array.dtype.name, "shape": array.shape})
    (folder / "results.json").write_text(json.dumps({"ranks": len(ranks), "results": names}))


def lower(folder, name, function, arguments):
    lowered = jax.jit(function, keep_unused=True).lower(*arguments)
    compiled = lowered.compile()
    ranks = [(arguments, compiled(*arguments))]
    write(folder / name, lowered.compiler_ir("hlo"), ranks)
    write(folder / f"{name}_optimized", compiled.runtime_executable().hlo_modules()[0], ranks)


def lower_group(folder, name):
    members = groups[name]

    def whole(arguments):
        return {key: function(*arguments[key]) for key, (function, _) in members.items()}

    lower(folder, name, whole, [{key: arguments for key, (_, arguments) in members.items()}])


def device_mesh():
    return jax.sharding.Mesh(np.array(jax.devices()), ("x",))


def collectives():
    """A function on four ranks, which have shards of the arrays."""
    def local(a, b):
        ring = [(i, (i + 1) % 4) for i in range(4)]
        return {
            "sum": lax.psum(a, "x"), "largest": lax.pmax(a, "x"), "smallest": lax.pmin(b, "x"), "mean": lax.pmean(a, "x"),
            "gather": lax.all_gather(a, "x", tiled=True), "gather_columns": lax.all_gather(a, "x", axis=1, tiled=True),
            "scatter": lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True),
            "ring": lax.ppermute(a, "x", ring), "some": lax.ppermute(a, "x", [(0, 2)]),
            "exchange": lax.all_to_all(a, "x", 1, 0, tiled=True), "rank": lax.axis_index("x")[None] + b[0, :1],
            "pairs": lax.psum(a, "x", axis_index_groups=[[0, 1], [2, 3]]),
        }

    spec = jax.sharding.PartitionSpec("x")
    return jax.jit(jax.shard_map(local, mesh=device_mesh(), in_specs=(spec, spec), out_specs=spec, check_vma=False))


def lower_collectives(folder):
    function, spec, mesh = collectives(), jax.sharding.PartitionSpec("x"), device_mesh()
    sharding = jax.sharding.NamedSharding(mesh, spec)
    arguments = [jax.device_put(array, sharding) for array in (floats(8, 4), integers(8, 4))]
    lowered = function.lower(*arguments)
    results = function(*arguments)

    def shard(rank):
        return lambda array: sorted(array.addressable_shards, key=lambda s: s.device.id)[rank].data

    ranks = [(jax.tree.map(shard(i), arguments), jax.tree.map(shard(i), results)) for i in range(4)]
    write(folder / "collectives", lowered.compiler_ir("hlo"), ranks)
    write(folder / "collectives_optimized", lowered.compile().runtime_executable().hlo_modules()[0], ranks)


def main():
    folder, chosen = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for fill in (elements, arithmetic, reductions, dots, convolutions, shapes, indexing, control):
        fill()
    for name in groups:
        if not chosen or name in chosen:
            lower_group(folder, name)
    if not chosen or "collectives" in chosen:
        lower_collectives(folder)
    if not chosen or "gpt" in chosen:
        shapes_of = jax.eval_shape(lambda: (jax_gpt_step.initial(), jax_gpt_step.batch()))
        parameters, batch = jax.tree.map(lambda x: floats(*x.shape, low=-0.2, high=0.2) if x.dtype == jnp.float32 else integers(
            *x.shape, low=0, high=jax_gpt_step.VOCABULARY), shapes_of)
        lower(folder, "gpt", jax_gpt_step.step, (parameters, *batch))


if __name__ == "__main__":
    main()
