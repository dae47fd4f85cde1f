#!/usr/bin/python3
"""check_plugin.py CHECKOUT PLUGIN: one file for every board: small, nothing needed but libc, and no newer
glibc than JetPack 4's, whatever this build was made on."""

import importlib.util
import os
import sys

spec = importlib.util.spec_from_file_location("gates", sys.argv[1] + "/packaging/check_programs.py")
gates = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gates)

plugin = sys.argv[2]
size, needed, newest = os.path.getsize(plugin), gates.needed_libraries(plugin), gates.newest(plugin)
print("%d bytes, needs %s, glibc %d.%d" % ((size, " ".join(needed)) + newest))
assert size <= 128 * 1024, size
assert needed == ["libc.so.6"], needed
assert newest <= gates.GLIBC_MAX and newest > (0, 0), newest
assert not [v for _, v in gates.versioned_imports(plugin) if gates.too_new(v)]
with open(plugin, "rb") as file:
    assert b"libcuda.so.1" in file.read()
