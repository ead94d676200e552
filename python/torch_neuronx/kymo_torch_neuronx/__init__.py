"""torch_neuronx where there is none: its experimental.profiler, by Kymo.

The modules lie where no import finds them by itself. Python loads this one when it starts (kymo_torch_neuronx.pth), and it is asked
last: a real torch_neuronx, wherever it is installed and whichever of the two was installed first, is the one that is imported.
"""

import sys


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "torch_neuronx":
            return None
        later = sys.meta_path[sys.meta_path.index(self) + 1:]  # such as those of packages that are installed as links to their sources
        if any(finder.find_spec(name, path, target) is not None for finder in later):
            return None
        import os
        from importlib.machinery import PathFinder
        return PathFinder.find_spec(name, [os.path.join(os.path.dirname(__file__), "modules")])


sys.meta_path.append(_Finder())
