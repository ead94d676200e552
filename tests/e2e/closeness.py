"""Whether arrays that two implementations computed are the same, but for rounding."""

import ml_dtypes
import numpy as np

# Of floats, in units of the type's precision: sums are taken in another order, functions are approximated in other ways.
ULPS = {np.dtype(np.float32): 256, np.dtype(np.float16): 4, np.dtype(ml_dtypes.bfloat16): 4}
MOST = 8.0


def difference(found, expected, is_exact=False):
    """What differs, as a text; empty if nothing does."""
    dtype = expected.dtype
    if found.shape != expected.shape or found.dtype != dtype:
        return f"{found.dtype}{list(found.shape)}, not {dtype}{list(expected.shape)}"
    if dtype.kind in "iub" or is_exact:
        wrong = (found != expected) & ~((found != found) & (expected != expected))
    else:
        info = ml_dtypes.finfo(dtype)
        slack = ULPS.get(dtype, 2) * float(info.eps)
        wide = expected.astype(np.float64)
        finite = np.abs(wide[np.isfinite(wide)])
        # Sums lose digits to their largest terms, so small results are held against the largest one.
        largest = min(MOST, finite.max()) if finite.size else 0.0
        subnormal = float(info.smallest_normal)  # XLA makes smaller ones 0
        with np.errstate(invalid="ignore"):
            wrong = ~np.isclose(found.astype(np.float64), wide, rtol=slack, atol=slack * largest + subnormal, equal_nan=True)
    if not wrong.any():
        return ""
    at = np.unravel_index(np.argmax(wrong), wrong.shape)
    return f"{wrong.sum()} of {wrong.size} differ, [{','.join(map(str, at))}] is {found[at]}, not {expected[at]}"
