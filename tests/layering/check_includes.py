#!/usr/bin/env python3
"""Checks that dependencies point one way, over the includes of the tracked sources.

    check_includes.py [ROOT]      exit 1 and one line per breach
    check_includes.py --self-test  shows that each rule catches what it is for

Pure folders (the core, the models, the ledger) may include only what LAYERS lists for them and no
header that reaches a clock, a file, a socket, a thread or a random device. A library is named in
one place only (VENDORS). Files stay below LINES_MAX lines and carry no mark of unfinished work.
"""

import os
import re
import subprocess
import sys

LINES_MAX = 600

# Folder: the folders it may include from, besides itself and what lies below it. The longest
# folder that fits a file counts; a folder not listed is free (shell, control, lab, tests, bench).
LAYERS = {
    "base": [],
    "json": ["base"],
    "config": ["base", "json"],
    "cli": [],
    "estimators/lane": ["base"],  # the arithmetic of one lane, also for device code
    "estimators/model": ["base", "json", "config", "estimators/lane"],
    "estimators/cpu": ["base", "json", "config", "estimators/lane", "estimators/model"],
    "consensus": ["base", "json", "config"],
    "power/model": ["base", "json", "config"],
    "mqtt/codec": ["base", "json", "config"],
    "mqtt/sign": ["base", "config", "mqtt/codec"],
    "mqtt/client": ["base", "mqtt/codec", "mqtt/sign"],
    "agent/core": ["base", "estimators/model", "consensus", "power/model", "agent/policies",
                   "agent/placement"],
    "agent/policies": ["base", "estimators/model", "consensus", "power/model", "agent/core"],
    "agent/placement": ["base", "estimators/model", "consensus", "power/model", "agent/core"],
    # The interface of the power readers is the sensor port; nothing else of that folder is.
    "agent/ports": ["base", "estimators/model", "consensus", "power/model", "agent/core",
                    "power/readers/reader.hpp"],
    "agent/journal": ["base", "agent/core", "agent/policies", "agent/ports"],
    "trainers": ["base", "json", "config", "cli", "consensus", "mqtt/codec"],
    "agent/shell": ["base", "json", "config", "cli", "estimators", "consensus", "power", "mqtt",
                    "agent"],
    "power": ["base", "json", "config", "cli"],
}

# Folders that must give the same answer wherever and whenever they run.
PURE = ["base", "json", "config", "estimators/lane", "estimators/model", "estimators/cpu",
        "consensus", "power/model", "mqtt/codec", "agent/core", "agent/policies", "agent/placement", "agent/ports"]

IMPURE = re.compile(
    r"^(chrono|ctime|time\.h|random|thread|mutex|shared_mutex|condition_variable|future|fstream|"
    r"iostream|filesystem|cstdlib|stdlib\.h|cstdio|stdio\.h|csignal|signal\.h|unistd\.h|fcntl\.h|"
    r"poll\.h|pthread\.h|dlfcn\.h|unordered_map|unordered_set|sys/.*|netinet/.*|arpa/.*|linux/.*)$")

# (file, header): why it may.
PURE_EXCEPTIONS = {
    ("base/require.cpp", "cstdio"): "a failed assertion is written before the program stops",
    ("base/require.cpp", "cstdlib"): "std::abort",
    ("config/schema.cpp", "cstdio"): "config::read_file, used by the shells only",
    ("estimators/cpu/batch.cpp", "cstdlib"): "aligned memory for SIMD lanes",
}

# Header pattern: where alone it may be included.
VENDORS = [
    (re.compile(r"^nlohmann/"), re.compile(r"^json/nlohmann/")),
    (re.compile(r"^sqlite3\.h$"), re.compile(r"^agent/journal/sqlite/")),
    (re.compile(r"^CLI/"), re.compile(r"^cli/cli11/")),
    (re.compile(r"^spdlog/"), re.compile(r"^agent/run\.cpp$|(^|/)main\.cpp$")),
    (re.compile(r"^mqtt/[a-z_]+\.h$|^MQTT"), re.compile(r"^(mqtt/client/paho_link\.cpp$|bench/)")),
    (re.compile(r"^openssl/"), re.compile(r"^mqtt/sign/")),
    (re.compile(r"^zlib\.h$"), re.compile(r"^(trainers/data/byte_source\.cpp$|lab/|tests/)")),
    (re.compile(r"^Eigen/"), re.compile(r"^(trainers/|estimators/|lab/|bench/|tests/)")),
    (re.compile(r"^benchmark/"), re.compile(r"^bench/")),
    (re.compile(r"^unity\.h$"), re.compile(r"^tests/")),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
# Split so that this file does not hold them itself.
MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|HA" r"CK|XX" r"X)\b")
# A path of one machine: absolute, below a home or a workplace.
PATHS = re.compile(r"(?<![\w./-])/(home|Users|root|work|workspace|mnt)/[\w.-]+")
TEXT = (".cpp", ".hpp", ".cu", ".cuh", ".h", ".c", ".py", ".sh", ".md", ".txt", ".cmake", ".json",
        ".yml", ".yaml", "dev", "run")
CODE = (".cpp", ".hpp", ".cu", ".cuh", ".h", ".c", ".py", ".sh")
SOURCES = (".cpp", ".hpp", ".cu", ".cuh", ".h")


def inside(path, folder):
    return path == folder or path.startswith(folder + "/")


def layer_of(path):
    fitting = [folder for folder in LAYERS if inside(path, folder)]
    return max(fitting, key=len) if fitting else None


def check_include(path, quoted, header, first_folders):
    """The breaches of one include line, as texts."""
    if not quoted:
        for pattern, home in VENDORS:
            if pattern.search(header) and not home.search(path):
                yield "<%s> belongs to %s alone" % (header, home.pattern)
        pure = next((folder for folder in PURE if inside(path, folder)), None)
        if pure and IMPURE.match(header) and (path, header) not in PURE_EXCEPTIONS:
            yield "<%s> in the pure folder %s" % (header, pure)
        return
    if header.split("/")[0] not in first_folders:
        yield '"%s" is not written from the root of the tree' % header
        return
    layer = layer_of(path)
    if layer is None or inside(header, layer):
        return
    if not any(inside(header, allowed) for allowed in LAYERS[layer]):
        yield '%s may not include "%s"; it may: %s' % (
            layer, header, ", ".join(LAYERS[layer]) or "nothing but itself")


def check_file(path, text, first_folders):
    """All breaches of a file, as "path:line: what"."""
    lines = text.splitlines()
    out = []
    if path.endswith(SOURCES):
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            if found:
                out += ["%s:%d: %s" % (path, number, what) for what in
                        check_include(path, found[1] == '"', found[2], first_folders)]
    if path.endswith(CODE) and len(lines) > LINES_MAX:
        out.append("%s:%d: longer than %d lines; divide it" % (path, len(lines), LINES_MAX))
    for number, line in enumerate(lines, 1):
        if MARKS.search(line):
            out.append("%s:%d: a mark of unfinished work" % (path, number))
        if PATHS.search(line):
            out.append("%s:%d: a path of one machine: %s" % (path, number, PATHS.search(line)[0]))
    return out


def tracked(root):
    """Files under version control; all files of a tree that came without it."""
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        return [name for name in listed.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        pass
    out = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in ("build", ".git")]
        out += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return out


def check_tree(root):
    files = sorted(name for name in tracked(root) if os.path.isfile(os.path.join(root, name)))
    first_folders = {name.split("/")[0] for name in files if "/" in name}
    breaches, checked = [], 0
    for name in files:
        if not name.endswith(TEXT):
            continue
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as f:
            breaches += check_file(name, f.read(), first_folders)
        checked += 1
    unused = [key for key in PURE_EXCEPTIONS if key[0] not in files]
    breaches += ["%s: an exception for a file that is gone" % key[0] for key in unused]
    for breach in breaches:
        print(breach)
    print("%d files checked, %d breaches" % (checked, len(breaches)))
    return 0 if checked > 100 and not breaches else 1


def self_test():
    first = {"base", "json", "config", "cli", "agent", "power", "mqtt", "lab"}
    bad = [
        ("base/a.hpp", '#include "json/value.hpp"'),
        ("json/a.cpp", '#include "config/schema.hpp"'),
        ("agent/core/step/step.cpp", '#include "agent/agent.hpp"'),
        ("agent/core/step/step.cpp", '#include "json/value.hpp"'),
        ("agent/policies/a.cpp", "  #  include <chrono>"),
        ("agent/core/a.cpp", "#include <sys/socket.h>"),
        ("agent/core/a.cpp", "#include <unordered_map>"),
        ("power/model/meter.cpp", '#include "power/readers/sysfs.hpp"'),
        ("power/model/meter.cpp", "#include <fstream>"),
        ("base/archive.cpp", "#include <cstdlib>"),
        ("agent/ports/ports.hpp", '#include "power/readers/sysfs/sysfs_reader.hpp"'),
        ("agent/shell/a.cpp", '#include "agent/replay/replay.hpp"'),
        ("agent/shell/a.cpp", "#include <nlohmann/json.hpp>"),
        ("agent/journal/journal.cpp", "#include <sqlite3.h>"),
        ("control/commands/pki_command.cpp", "#include <CLI/CLI.hpp>"),
        ("cli/command.hpp", "#include <CLI/CLI.hpp>"),
        ("agent/agent.cpp", "#include <spdlog/spdlog.h>"),
        ("mqtt/codec/topics.cpp", '#include "mqtt/client/client.hpp"'),
        ("mqtt/codec/topics.cpp", "#include <mutex>"),
        ("mqtt/sign/a.cpp", '#include "mqtt/client/client.hpp"'),
        ("mqtt/client/outbox.cpp", "#include <mqtt/async_client.h>"),
        ("mqtt/client/client.cpp", "#include <openssl/evp.h>"),
        ("agent/fleet/link.cpp", "#include <mqtt/message.h>"),
        ("agent/fleet/link.cpp", "#include <MQTTAsync.h>"),
        ("agent/core/step/step.cpp", '#include "mqtt/codec/topics.hpp"'),
        ("lab/a.cpp", '#include "sibling.hpp"'),
        ("lab/a.cpp", "// TO" + "DO: later"),
        ("docs/a.md", "see /ho" + "me/somebody/laird"),
        ("lab/a.cpp", "int x;\n" * (LINES_MAX + 1)),
    ]
    good = [
        ("base/require.cpp", "#include <cstdlib>"),
        ("agent/core/step/step.cpp", '#include "agent/policies/policy.hpp"\n#include <vector>'),
        ("agent/run.cpp", "#include <spdlog/spdlog.h>\n#include <sys/epoll.h>"),
        ("agent/main.cpp", '#include "cli/command.hpp"\n#include "power/commands/commands.hpp"'),
        ("json/nlohmann/parse.cpp", "#include <nlohmann/json.hpp>"),
        ("mqtt/client/paho_link.cpp", '#include <mqtt/async_client.h>\n#include "mqtt/sign/tls_files.hpp"'),
        ("mqtt/sign/ed25519.cpp", "#include <openssl/evp.h>\n#include <fcntl.h>"),
        ("cli/cli11/command.cpp", "#include <CLI/CLI.hpp>"),
        ("docs/a.md", "sources are at /usr/share and in the framework/ folder"),
        ("lab/a.cpp", 'mkdtemp("laird-' + "X" * 6 + '")'),
    ]
    wrong = ["not caught: %s: %.60s" % case for case in bad if not check_file(*case, first)]
    wrong += ["caught for nothing: %s: %s" % (case[0], check_file(*case, first))
              for case in good if check_file(*case, first)]
    for text in wrong:
        print(text)
    print("self-test: %d snippets, %d wrong" % (len(bad) + len(good), len(wrong)))
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "../..")
    return check_tree(os.path.abspath(root))


if __name__ == "__main__":
    sys.exit(main())
