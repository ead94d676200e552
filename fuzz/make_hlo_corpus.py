"""Writes the seed corpora of fuzz-hlo, small modules from JAX that together use every operation that is read, and of
fuzz-hlo_module: some of these, and modules of captures, with what their compilers say of memory."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import hlo_model  # noqa: E402
import xspace  # noqa: E402
from hlo_model import floats, integers, jax, jnp, lax, np  # noqa: E402

OUT = pathlib.Path(__file__).parent / "corpus" / "hlo"
MODULES = OUT.with_name("hlo_module")
CAPTURED = {
    "jax_matmul_h200": {"jit_concatenate(1325)": "concatenate_h200", "jit_matmul_allgather(3320)": "gemm_h200"},
    "rocm_mi300_gemm": {"jit_dot(5)": "gemm_mi300", "jit_dot(21)": "cublas_mi300"},
    "tpu_inference": {"jit__psum(9646411105960254074)": "psum_tpu", "jit_f(12190760917235803885)": "copies_tpu"},
}


def captured():
    """Modules of captures, by the name of their seed."""
    for capture, names in CAPTURED.items():
        space = xspace._CLASSES["XSpace"].FromString((ROOT / f"tests/data/xplane/{capture}.xplane.pb").read_bytes())
        for plane in space.planes:
            for entry in plane.event_metadata:
                name = names.get(entry.value.name.decode(errors="replace"))
                protos = [stat.bytes_value for stat in entry.value.stats if stat.bytes_value]
                if name and protos:
                    yield name, max(protos, key=len)


def scanned(x):
    return lax.scan(lambda c, y: (jnp.tanh(c + y), c * 2), x[0], x)


def seeds():
    """Functions with their arguments."""
    x = floats(2, 3)
    yield "elements", lambda x: (jnp.exp(x), -x, jnp.clip(x, 0, 1), x.astype(jnp.int8), x > 0, jnp.where(x > 0, x, 1)), [x]
    yield "bits", lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.lt_to_p.bind(x, x)), [x]
    yield "reduce", lambda x: (x.sum(0), jnp.argmax(x, 1), x.max()), [x]
    yield "window", lambda x: (jnp.cumsum(x, 1), lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 1), "SAME")), [x]
    yield "window_gradient", jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 1), "SAME").sum()), [x]
    yield "dot", lambda x, y: jnp.einsum("bij,bjk->bik", x, y), [floats(2, 2, 3), floats(2, 3, 2)]
    yield "convolution", lambda x, w: lax.conv_general_dilated(
        x, w, (2, 1), "SAME", rhs_dilation=(1, 2), feature_group_count=2), [floats(1, 4, 5, 5), floats(2, 2, 3, 3)]
    yield "shapes", lambda x: (x.T, x[::-1, 1:], lax.pad(x, 1.0, ((1, 0, 1), (0, -1, 0))), jnp.concatenate([x, x])), [x]
    yield "constants", lambda x: (x + np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True, False])), [x]
    yield "gather", lambda t, i: (t[i], jnp.take_along_axis(t, i[:, None], 1)), [x, integers(2, low=0, high=2)]
    yield "scatter", lambda t, i: (t.at[i].add(1.0), t.at[i, 1].set(2.0)), [x, integers(2, low=0, high=2)]
    yield "dynamic", lambda x, i: (x[i], lax.dynamic_update_slice(x, x[:1], (i, 0))), [x, np.int32(1)]
    yield "scan", scanned, [x]
    yield "cond", lambda x: lax.cond(x[0, 0] > 0, lambda x: x + 1, lambda x: x * 2, x), [x]
    yield "sort", lambda x: jnp.sort(x), [x]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    # Files are named from the repository's root.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", re.escape(f"{ROOT}/"))
    for name, function, arguments in seeds():
        lowered = jax.jit(function).lower(*arguments)
        (OUT / name).write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
        if name in ("dot", "scan", "shapes"):
            module = lowered.compile().runtime_executable().hlo_modules()[0]
            (OUT / f"{name}_optimized").write_bytes(module.as_serialized_hlo_module_proto())
    lowered = hlo_model.collectives().lower(floats(8, 4), integers(8, 4))
    (OUT / "collectives").write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
    MODULES.mkdir(parents=True, exist_ok=True)
    for name in ("collectives", "convolution", "dot", "scan_optimized"):
        (MODULES / name).write_bytes((OUT / name).read_bytes())
    for name, module in captured():
        (MODULES / name).write_bytes(module)


if __name__ == "__main__":
    main()
