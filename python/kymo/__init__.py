"""Kymo: an open profiler for machine learning on accelerators.

>>> import kymo.profiler as profiler                 # in place of jax.profiler
>>> with profiler.trace("logs"):                     # doctest: +SKIP
...     train_step()
>>> profile = kymo.open("logs")                      # doctest: +SKIP
>>> profile.sql("SELECT name, sum(duration_ns) FROM SystemProfileEvents GROUP BY name")   # doctest: +SKIP

The submodules are imported when they are used: ``kymo.profiler`` records, ``kymo.open`` and ``kymo.data`` read, ``kymo.fleet`` collects ranks,
``kymo.torch`` and ``kymo.neuron`` work with the profilers of PyTorch and torch-neuronx.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from kymo import data, fleet, neuron, profiler, torch
    from kymo.profile import Profile
    from kymo.profile import open_profile as open

__version__ = "0.1.0"
__all__ = ["Profile", "__version__", "data", "fleet", "neuron", "open", "profiler", "torch"]


def __getattr__(name: str) -> Any:
    import importlib
    if name in ("data", "fleet", "neuron", "profiler", "torch"):
        return importlib.import_module("kymo." + name)
    if name in ("Profile", "open"):
        module = importlib.import_module("kymo.profile")
        value = module.Profile if name == "Profile" else module.open_profile
        globals()[name] = value
        return value
    raise AttributeError(f"module 'kymo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
