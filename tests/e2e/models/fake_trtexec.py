#!/usr/bin/python3 -B
"""A trtexec without TensorRT: the same flags and files, the network run in plain Python.

FAKE_TRTEXEC_MODE   ok (if not set), no-memory, killed, unsupported, flipped, hang, bad-cache,
                    fp16-flipped (only engines of half precision are wrong)
FAKE_TRTEXEC_VERSION  as trtexec prints it, 8502 if not set
FAKE_TRTEXEC_LOG    a file that gets a line with the flags of every run
"""

import json
import os
import random
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import onnx_graph  # noqa: E402

MODE = os.environ.get("FAKE_TRTEXEC_MODE", "ok")
VERSION = int(os.environ.get("FAKE_TRTEXEC_VERSION", "8502"))
MAJOR_MINOR = (VERSION // 10000, VERSION // 100 % 100) if VERSION >= 10000 else (
    VERSION // 1000, VERSION // 100 % 10)


def known_flags():
    flags = {"--onnx", "--saveEngine", "--minShapes", "--optShapes", "--maxShapes", "--shapes",
             "--timingCacheFile", "--loadEngine", "--loadInputs", "--exportOutput",
             "--exportTimes", "--iterations", "--warmUp", "--duration", "--int8"}
    flags.add("--memPoolSize" if MAJOR_MINOR >= (8, 4) else "--workspace")
    flags.add("--skipInference" if MAJOR_MINOR >= (8, 6) else "--buildOnly")
    if MAJOR_MINOR < (11, 0):
        flags.add("--fp16")
    return flags


def fail(text):
    print("[11/18/2026-10:00:00] [E] " + text)
    print("&&&& FAILED TensorRT.trtexec [TensorRT v%d]" % VERSION)
    sys.exit(1)


def build(flags):
    if MODE == "hang":
        time.sleep(3600)
    if MODE == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if MODE == "no-memory":
        fail("Error[2]: [virtualMemoryBuffer.cpp::resizePhysical::140] Error Code 2: OutOfMemory "
             "(Requested size was 536870912 bytes.)")
    if MODE == "unsupported":
        fail("ModelImporter.cpp:773: ERROR: builtin_op_importers.cpp:5404 In function "
             "importFallbackPluginImporter: [8] No importer registered for op: GridSample. "
             "Attempting to import as plugin.")
    cache = flags["--timingCacheFile"]
    if os.path.exists(cache):
        with open(cache) as file:
            if file.read() != "times of %d" % VERSION:
                fail("Error Code 4: timing cache is not compatible")
    with open(cache, "w") as file:
        file.write("bad" if MODE == "bad-cache" else "times of %d" % VERSION)
    with open(flags["--onnx"], "rb") as file:
        model = file.read()
    half = "--fp16" in flags or b"scaled_half" in model
    with open(flags["--saveEngine"], "wb") as file:
        file.write((b"FP16" if half else b"FP32") + model)


def answer(flags, engine, batch, width):
    graph = onnx_graph.Graph(engine[4:])
    name, path = flags["--loadInputs"].split(":", 1)
    if name != graph.inputs[0]:
        fail("no input " + name)
    with open(path, "rb") as file:
        numbers = struct.unpack("=%df" % (batch * width), file.read())
    wrong = MODE == "flipped" or (MODE == "fp16-flipped" and engine[:4] == b"FP16")
    chance = random.Random(batch)
    values = {name: [] for name in graph.outputs}
    for row in range(batch):
        out = graph.run(numbers[row * width:(row + 1) * width])
        for name, part in out.items():
            if wrong and chance.random() < 0.015:
                part = part[1:] + part[:1]
            values[name] += part
    with open(flags["--exportOutput"], "w") as file:
        json.dump([{"name": name, "dimensions": "%dx%d" % (batch, len(v) // batch),
                    "values": [float("%.6g" % x) for x in v]} for name, v in values.items()], file)


def times(flags, batch):
    """Runs of 1 ms and a twentieth of one for each row."""
    run_ms = 1 + batch / 20
    with open(flags["--exportTimes"], "w") as file:
        json.dump([{"startH2dMs": i * run_ms, "endD2hMs": (i + 1) * run_ms,
                    "latencyMs": run_ms * (1 + i / 1000)} for i in range(200)], file)


def main():
    print("&&&& RUNNING TensorRT.trtexec [TensorRT v%d] # trtexec" % VERSION)
    sys.stdout.flush()
    if sys.argv[1:] == ["--help"]:
        return
    flags = dict((a.split("=", 1) + [""])[:2] for a in sys.argv[1:])
    if "FAKE_TRTEXEC_LOG" in os.environ:
        with open(os.environ["FAKE_TRTEXEC_LOG"], "a") as file:
            file.write(" ".join(sys.argv[1:]) + "\n")
    unknown = sorted(set(flags) - known_flags())
    if unknown:
        fail("Unknown option: %s" % unknown)
    if "--onnx" in flags:
        build(flags)
        return
    with open(flags["--loadEngine"], "rb") as file:
        engine = file.read()
    batch, width = map(int, flags["--shapes"].rsplit(":", 1)[1].split("x"))
    if "--exportTimes" in flags:
        times(flags, batch)
    else:
        answer(flags, engine, batch, width)


if __name__ == "__main__":
    main()
