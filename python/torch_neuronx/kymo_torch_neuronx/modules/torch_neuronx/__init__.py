"""Of torch-neuronx, only experimental.profiler: it is Kymo's, as torch-neuronx is not installed."""
