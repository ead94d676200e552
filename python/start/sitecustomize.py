"""Python runs this at startup, because kymo inspect --torch-ops puts its folder first on PYTHONPATH: PyTorch then writes its
operators as NVTX ranges. Nothing is done without KYMO_TORCH_OPS, or before a program has imported torch and uses CUDA; what goes
wrong is one line on standard error, and the program continues."""

import os
import sys


def _say(problem):
    try:
        sys.stderr.write(f"kymo: PyTorch's operators are not recorded: {problem}\n")
    except Exception:  # closed, or another object in its place
        pass


def _run_next():
    """The sitecustomize that Python would have run without this one."""
    import importlib.machinery
    import importlib.util
    own = os.path.dirname(os.path.realpath(__file__))
    path = [folder for folder in sys.path if os.path.realpath(folder or os.curdir) != own]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class _Operators:
    """emit_nvtx of one process, from the first use of CUDA until the program starts a profiler of its own."""

    def __init__(self, torch):
        self.torch = torch
        self.range = None

    def wait(self):
        """CUDA must not be initialized earlier than by the program, which may want to fork or to choose a device first."""
        if self.torch.version.cuda is not None:
            self.torch.cuda._lazy_call(self.start)

    def start(self):
        try:
            import atexit
            import threading
            profiler = self.torch.autograd.profiler
            cuda = self.torch.cuda
            synchronize, thread = cuda.synchronize, threading.get_ident()

            def synchronize_others(*args, **kwargs):
                return None if threading.get_ident() == thread else synchronize(*args, **kwargs)
            cuda.synchronize = synchronize_others  # it would make a context on a device that the program may not want
            try:
                operators = profiler.emit_nvtx(record_shapes=True)
                operators.__enter__()
            finally:
                cuda.synchronize = synchronize
            self.range = operators  # its end must not be that of the object
            self.give_way(profiler)
            atexit.register(self.stop, profiler._disable_profiler)
        except Exception as problem:
            _say(problem)

    def stop(self, disable):
        """PyTorch warns of a profiler that is on when the program ends."""
        try:
            if self.range is not None:
                disable()
        except Exception:  # it belongs to another thread
            pass

    def give_way(self, profiler):
        """PyTorch refuses a second profiler: the program's own must not fail."""
        enable = profiler._enable_profiler
        disable = profiler._disable_profiler

        def enable_instead(*args, **kwargs):
            if self.range is not None:
                self.range = None
                _say("from here on: the program has started a profiler of its own")
                disable()
            return enable(*args, **kwargs)
        profiler._enable_profiler = enable_instead


class _Loader:
    """Of torch: what its own loader does, and then ours."""

    def __init__(self, loader, finder):
        self.loader = loader
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        try:
            sys.meta_path.remove(self.finder)
            _Operators(module).wait()
        except Exception as problem:
            _say(problem)


class _Finder:
    """Waits for torch, which programs may also look for without importing it, and finds nothing else."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self)
                return spec
        return None


if os.environ.get("KYMO_TORCH_OPS") == "1":
    sys.meta_path.insert(0, _Finder())
_run_next()
