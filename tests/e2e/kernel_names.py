"""Names of kernels as they are shown: symbols of C++ are made readable, and what is left out of a name is told apart by a checksum."""

import ctypes
import re
import zlib


def key(name):
    """The same for a symbol and for the name it is shown under, of those that are not read to their end; other names are their own."""
    if name.startswith("_Z"):
        return f"[{zlib.crc32(name.encode()):08x}]"
    mark = re.search(r"\u2026.* (\[[0-9a-f]{8}\])$", name)
    return mark[1] if mark else name


def plain(name):
    """What the C++ library makes of a symbol; other names are their own."""
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    address = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(ctypes.c_int())) if name.startswith("_Z") else None
    return ctypes.string_at(address).decode() if address else name
