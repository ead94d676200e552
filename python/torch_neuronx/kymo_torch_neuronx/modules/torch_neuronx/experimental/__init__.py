"""Of torch-neuronx's experiments, only the profiler."""
