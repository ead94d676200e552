"""torch_neuronx.experimental.profiler, by Kymo."""

from kymo.neuron import profile

__all__ = ["profile"]
