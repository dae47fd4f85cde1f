#!/usr/bin/env python3
"""Checks that dependencies point one way, over the includes of the tracked sources.

    check_includes.py [ROOT]      exit 1 and one line per breach
    check_includes.py --self-test  shows that each rule catches what it is for

Pure folders (the core, the models, the ledger) may include only what LAYERS lists for them and no
header that reaches a clock, a file, a socket, a thread or a random device. A library is named in
one place only (VENDORS). Files stay below LINES_MAX lines and carry no mark of unfinished work.
"""

import collections
import os
import re
import subprocess
import sys

LINES_MAX = 600
# A module that people copy to their boards as the one file it is.
LINES_MAX_OF = {"trainers/python/laird_trainer.py": 740}
# A folder of more sources has more than one subject.
FOLDER_SOURCES_MAX = 20

# A room: the rooms it may include from besides itself, or single headers of them. The longest room
# that fits a file is its room; a folder below it that is not listed belongs to it. Every source
# outside tests/ and bench/ has a room.
PLAIN = ["base", "json", "config"]
CORE = ["agent/core/calendar", "agent/core/state", "agent/core/step", "agent/core/step/runs",
        "agent/core/step/titles", "agent/policies"]
MODELS = ["estimators/model", "consensus", "consensus/ledger", "consensus/titles", "power/model"]
LAYERS = {
    "base": [],
    "os": ["base"],
    "json": ["base"],
    "config": ["base", "json"],
    "cli": [],
    "http": [],
    "plot": [],
    "estimators/lane": ["base"],  # the arithmetic of one lane, also for device code
    "estimators/model": PLAIN + ["estimators/lane", "estimators/bank"],
    "estimators/cpu": PLAIN + ["estimators/lane"],
    "estimators/bank": PLAIN + ["estimators/lane", "estimators/cpu"],
    "estimators/cuda": PLAIN + ["estimators/lane", "estimators/cpu", "estimators/bank"],
    "consensus": ["base"],  # the words boards exchange
    "consensus/voting": ["base", "consensus"],
    "consensus/ledger": ["base", "consensus", "consensus/voting"],
    "consensus/cotrain": ["base", "consensus"],
    "consensus/titles": ["base", "consensus"],
    "power/model": PLAIN,
    "power/boards": PLAIN + ["power/model"],
    "power/readers": PLAIN + ["os", "power/model"],
    "power/report": PLAIN + ["plot", "power/model", "power/readers"],
    "power/helper": PLAIN + ["os", "power/model", "power/boards"],
    "power/commands": PLAIN + ["cli", "os", "plot", "power/model", "power/boards", "power/readers",
                               "power/report"],
    "mqtt/codec": PLAIN,
    "mqtt/sign": ["base", "config", "mqtt/codec"],
    "mqtt/client": ["base", "mqtt/codec", "mqtt/sign"],
    # Both directions of the lines between the agent and a trainer.
    "trainer_protocol": ["base", "json", "mqtt/codec"],
    "datasets": ["base", "os"],
    # What travels with a model: model.json, rows, how answers are judged.
    "models": ["base", "json"],
    "trainers/model": PLAIN + ["os", "consensus", "consensus/cotrain", "datasets", "models",
                               "trainer_protocol", "trainers/privacy"],
    # Noise, and the account of what was told: before anything leaves a board.
    "trainers/privacy": PLAIN + ["os", "consensus/cotrain"],
    "trainers/export": PLAIN + ["datasets", "models", "os", "trainers/model"],
    "trainers/average": PLAIN + ["os", "consensus/cotrain", "trainer_protocol", "trainers/model",
                                 "trainers/session.hpp"],
    "trainers": PLAIN + ["cli", "datasets", "models", "os", "trainer_protocol", "trainers/average", "trainers/export",
                         "trainers/model"],
    # Engines of models: a program by itself, which knows neither the agent nor the trainers.
    "promote": PLAIN + ["cli", "models", "os", "promote/shelf", "promote/task", "promote/tensorrt",
                        "trainer_protocol"],
    # The two trainers that laird-promote is, under an agent.
    "promote/task": PLAIN + ["models", "os", "promote/shelf", "trainer_protocol"],
    "promote/shelf": PLAIN + ["os"],
    "promote/tensorrt": [],
    # The core: words and memory, then the steps. Policies see the words.
    "agent/core/calendar": ["base"],  # windows of the week by local time
    "agent/core/state": ["base", "agent/core/calendar", "agent/policies/policy.hpp"] + MODELS,
    "agent/core/step": ["base", "agent/core/calendar", "agent/core/state", "agent/core/step/runs/run_words.hpp",
                        "agent/core/step/titles/title_body.hpp", "agent/placement", "agent/policies"] + MODELS,
    "agent/core/step/runs": ["base", "agent/core/state", "agent/core/step", "estimators/model"],  # earlier ones
    "agent/core/step/titles": ["base", "agent/core/state", "agent/core/step"] + MODELS,  # tasks that may move
    "agent/policies": ["base", "agent/core/state", "agent/placement"] + MODELS,
    # What a task still needs, and what a board would make of a new one: below policies and steps.
    "agent/placement": PLAIN + ["agent/core/state", "estimators/model"],
    # Which board runs which task: what a plan is and whether it is one, then how it is found.
    "agent/placement/planner": ["base", "json"],
    "agent/placement/search": ["base", "agent/placement/planner"],
    # What a fleet's boards publish, as an instance of the planner.
    "agent/placement/fleet": ["base", "json", "agent/core/state", "agent/placement",
                              "agent/placement/planner", "agent/placement/search"],
    # Why a task met or missed its deadline: for the agent and for who reads its journal.
    "agent/why": ["base", "json", "agent/core/state", "agent/core/step", "agent/placement"],
    # A recorded life, run again with other settings.
    "agent/whatif": ["base"] + CORE + MODELS,
    "agent/journal": ["base", "os"] + CORE,
    # Who looks at a journal uses its reader; the writer is the agent's.
    "agent/replay": ["base", "agent/journal/file_names.hpp", "agent/journal/reader.hpp"] + CORE,
    "agent/os": ["base", "config", "os", "cell/spec.hpp"],
    "agent/settings": PLAIN + ["os", "power/model", "power/boards", "power/readers/open_reader.hpp",
                               "agent/core/state", "agent/policies/policy.hpp",
                               "agent/journal/limits.hpp"],
    # A trainer's cell: what can be guarded, then who makes it. laird-cell is a program of its own.
    "cell/guards": ["base", "os", "cell/spec.hpp"],
    "cell": PLAIN + ["os", "cell/guards", "agent/settings"],
    "agent/trainer_host": PLAIN + ["os", "trainer_protocol", "cell", "agent/core/state", "agent/os",
                                   "agent/core/step/titles/title_body.hpp", "agent/settings"],
    "agent/board_power": PLAIN + ["os", "power", "power/model", "power/boards", "power/readers",
                                  "power/helper", "agent/core/state", "agent/os", "agent/settings"],
    # The models that stand on the board.
    "agent/models": PLAIN + ["os", "mqtt/codec", "promote/shelf", "agent/core/state", "agent/os"],
    "agent/view": PLAIN + ["http", "os", "mqtt/codec", "mqtt/client/connection.hpp", "power/model",
                           "power/report", "agent/core/state", "agent/core/step", "agent/os",
                           "agent/placement", "agent/settings", "trainer_protocol"],
    "agent/commands": PLAIN + ["os", "mqtt/codec", "mqtt/sign", "mqtt/client/message.hpp",
                               "agent/agent.hpp", "agent/machine.hpp", "agent/core/state", "agent/os", "agent/placement",
                               "agent/models", "agent/settings", "agent/view", "agent/why", "cell/spec.hpp"],
    "agent/fleet": PLAIN + ["os", "consensus", "mqtt/codec", "mqtt/sign", "mqtt/client",
                            "agent/agent.hpp",
                            "agent/core/state", "agent/core/step/time_sheet.hpp", "agent/commands",
                            "agent/os", "agent/placement", "power/model", "agent/settings", "agent/view", "trainer_protocol"],
    # What only a board can show, tried on it.
    "agent/selftest": PLAIN + ["os", "estimators/cuda", "power/model", "power/boards", "power/commands/commands.hpp",
                               "power/helper", "power/readers", "agent/os"],
    # A board's way into its fleet, before there is an agent.
    "agent/join": PLAIN + ["os", "mqtt/codec", "mqtt/sign", "mqtt/client",
                           "power/boards/catalogue.hpp", "agent/settings/settings.hpp"],
    # Another version of the package, on trial; root's half.
    "agent/upgrade": PLAIN + ["os", "mqtt/codec", "mqtt/sign", "agent/commands", "agent/settings"],
    # The driver and one life of it.
    "agent": PLAIN + ["cli", "os", "cell/spec.hpp", "estimators/bank", "estimators/cuda", "mqtt/client", "power/boards", "power/commands",
                      "agent/core/state", "agent/core/step", "agent/core/step/titles", "agent/journal", "agent/os",
                      "agent/selftest", "agent/settings",
                      "agent/trainer_host", "agent/board_power", "agent/view", "agent/commands",
                      "agent/fleet", "agent/join", "agent/models", "agent/upgrade"],
    # What a journal tells, as tables; then those as a page, as JSON, as CSV and as a trace.
    "report/story": ["base", "consensus", "agent/core/state", "agent/core/step",
                     "agent/placement", "agent/view/shares.hpp",
                     "agent/view/status.hpp", "agent/why", "power/model"],
    "report": PLAIN + ["plot", "agent/core/state", "consensus", "mqtt/codec", "power/model",
                       "report/story"],
    # lairctl knows the agent's words and settings, and none of what it does.
    "control/fleet": PLAIN + ["cli", "os", "mqtt/codec", "mqtt/sign", "mqtt/client",
                              "agent/core/state/fleet.hpp", "agent/settings/fleet_budget_json.hpp",
                              "control/screen"],
    "control/screen": ["base", "json", "mqtt/codec", "control/fleet/fleet_view.hpp"],
    "control/provision": PLAIN + ["os", "mqtt/codec", "mqtt/sign", "agent/core/state/fleet.hpp",
                                  "agent/settings/settings.hpp", "power/boards/catalogue.hpp"],
    "control/doctor": PLAIN + ["mqtt/codec", "mqtt/sign", "mqtt/client", "control/fleet",
                               "control/screen"],
    "control/commands": PLAIN + ["cli", "mqtt/codec", "mqtt/sign", "agent/replay", "agent/why", "agent/core/step/step.hpp",
                                 "agent/placement/fleet",
                                 "agent/settings", "control/fleet", "control/screen",
                               "control/provision", "control/doctor", "os/child_process.hpp", "os/fd.hpp",
                               "os/whole_file.hpp", "control/plan", "control/report/files.hpp", "control/report/progress.hpp",
                               "control/whatif/whatif_command.hpp", "models/model_file.hpp"],
    # The files of a report: which journals, where to, how far.
    "control/report": PLAIN + ["cli", "os", "agent/replay", "agent/journal/file_names.hpp",
                               "agent/core/state", "control/commands/commands.hpp",
                               "control/fleet/exit.hpp", "control/screen", "report",
                               "report/story"],
    # A journal with other settings: what is asked, what comes of it, and how it is said.
    "control/whatif": PLAIN + ["mqtt/codec/topics.hpp", "power/boards", "power/model", "agent/replay", "agent/whatif",
                               "control/commands/commands.hpp", "control/fleet/exit.hpp",
                               "control/report", "control/screen", "report", "report/story"] + CORE,
    # A fleet's plan, and where a new task should go.
    "control/plan": PLAIN + ["cli", "plot", "power/boards", "power/model", "agent/settings",
                             "agent/placement/fleet", "agent/placement/planner",
                             "agent/placement/search", "control/fleet", "control/screen"],
    # The live page: what it is made of is pure, the server and the orders are not.
    "control/serve": PLAIN + ["http", "os", "plot", "mqtt/codec", "agent/settings/listen_address.hpp",
                              "control/commands/commands.hpp", "control/fleet", "control/screen",
                              "report/story/series.hpp"],
    "control": ["cli", "control/commands", "control/fleet", "control/plan", "os/process_end.hpp"],
    "packaging": [],  # names the mains of the agent and of lairctl
    # Experiments: the core and the models, never the agent's processes.
    "lab": PLAIN + ["cli", "datasets", "os", "plot", "estimators/model", "consensus", "consensus/voting",
                    "consensus/ledger", "consensus/cotrain", "consensus/titles", "mqtt/codec", "power/model",
                    "power/boards", "power/readers", "power/report", "agent/placement",
                    "agent/placement/fleet", "agent/placement/planner", "agent/placement/search",
                    "agent/replay",
                    "report/story/share_watch.hpp"] + CORE,
}

# Folders and single files that must give the same answer wherever and whenever they run.
PURE = ["base", "http", "json", "config", "estimators/lane", "estimators/model", "estimators/cpu",
        "estimators/bank",
        "consensus", "models", "power/model", "mqtt/codec", "trainer_protocol", "agent/core", "agent/policies",
        "agent/placement", "agent/why", "agent/whatif", "report", "agent/settings", "agent/view", "agent/commands/requests.hpp",
        "agent/commands/requests.cpp"]

# Files of pure folders that touch the machine: why they are there.
PURE_FILES_EXCEPTED = {
    "agent/settings/settings_loader.cpp": "reads configs and tasks from files, looks at the machine",
    "agent/settings/settings_store.cpp": "keeps what operators set over the network on the disk",
    "agent/view/display.cpp": "writes to the terminal what display_text makes",
    "agent/view/display.hpp": "the terminal as a FILE",
    "agent/view/event_log.cpp": "keeps the last events in a file",
    "agent/view/metrics_port.cpp": "serves over HTTP what metrics makes",
}

IMPURE = re.compile(
    r"^(chrono|ctime|time\.h|random|thread|mutex|shared_mutex|condition_variable|future|fstream|"
    r"iostream|filesystem|cstdlib|stdlib\.h|cstdio|stdio\.h|csignal|signal\.h|unistd\.h|fcntl\.h|"
    r"poll\.h|pthread\.h|dlfcn\.h|unordered_map|unordered_set|sys/.*|netinet/.*|arpa/.*|linux/.*)$")

# (file, header): why it may.
PURE_EXCEPTIONS = {
    ("base/require.cpp", "cstdio"): "a failed assertion is written before the program stops",
    ("base/require.cpp", "cstdlib"): "std::abort",
    ("agent/settings/listen_address.hpp", "sys/socket.h"): "the type of an address; opens nothing",
    ("agent/settings/listen_address.cpp", "arpa/inet.h"): "inet_pton",
    ("agent/settings/listen_address.cpp", "netinet/in.h"): "the types of addresses",
    ("agent/view/display_text.cpp", "cstdio"): "std::snprintf",
    ("agent/view/status.cpp", "cstdio"): "std::snprintf",
    ("config/schema.cpp", "cstdio"): "config::read_file, used by the shells only",
    ("estimators/cpu/batch.cpp", "cstdlib"): "aligned memory for SIMD lanes",
}

# Header pattern: where alone it may be included.
VENDORS = [
    (re.compile(r"^nlohmann/"), re.compile(r"^json/nlohmann/")),
    (re.compile(r"^sqlite3\.h$"), re.compile(r"^(agent/journal/sqlite/|tests/virtual/fake_disk\.cpp$)")),
    (re.compile(r"^CLI/"), re.compile(r"^cli/cli11/")),
    (re.compile(r"^spdlog/"), re.compile(r"^agent/run\.cpp$|(^|/)main\.cpp$")),
    (re.compile(r"^mqtt/[a-z_]+\.h$|^MQTT"), re.compile(r"^(mqtt/client/paho_link\.cpp$|bench/)")),
    (re.compile(r"^openssl/"), re.compile(r"^mqtt/sign/")),
    (re.compile(r"^coin/"), re.compile(r"^lab/placement/ilp/")),
    (re.compile(r"^zlib\.h$"), re.compile(r"^(datasets/byte_source\.cpp$|tests/)")),
    (re.compile(r"^Eigen/"), re.compile(r"^(trainers/|estimators/|lab/|bench/|tests/)")),
    (re.compile(r"^(Nv[A-Z]|cuda)"), re.compile(r"^(promote/tensorrt/|estimators/cuda/|bench/|tests/)")),
    (re.compile(r"^benchmark/"), re.compile(r"^bench/")),
    (re.compile(r"^unity\.h$"), re.compile(r"^tests/")),
]

# lairctl writes what boards say, and one place sees to it that none of it steers a terminal.
PRINTS = re.compile(r"\bstd::(printf|puts|fputs|putchar|fwrite|cout)\b")
PRINTS_IN = re.compile(r"^control/(?!screen/output\.cpp$)")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
# Split so that this file does not hold them itself.
MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|HA" r"CK|XX" r"X)\b")
# A path of one machine: absolute, below a home or a workplace.
PATHS = re.compile(r"(?<![\w./-])/(home|Users|root|work|workspace|mnt)/[\w.-]+")
TEXT = (".cpp", ".hpp", ".cu", ".cuh", ".h", ".c", ".py", ".sh", ".md", ".txt", ".cmake", ".json",
        ".yml", ".yaml", "dev", "run")
CODE = (".cpp", ".hpp", ".cu", ".cuh", ".h", ".c", ".py", ".sh")
SOURCES = (".cpp", ".hpp", ".cu", ".cuh", ".h")


FREE = ("tests/", "bench/")


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
        excepted = path in PURE_FILES_EXCEPTED or (path, header) in PURE_EXCEPTIONS
        if pure and IMPURE.match(header) and not excepted:
            yield "<%s> in the pure folder %s" % (header, pure)
        return
    if header.split("/")[0] not in first_folders:
        yield '"%s" is not written from the root of the tree' % header
        return
    layer = layer_of(path)
    if layer is None:
        if not path.startswith(FREE):
            yield "no rule for this folder; add one to LAYERS"
        return
    if layer_of(header) != layer and layer_of(header) not in LAYERS[layer] and (
            header not in LAYERS[layer]):
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
    lines_max = LINES_MAX_OF.get(path, LINES_MAX)
    if path.endswith(CODE) and len(lines) > lines_max:
        out.append("%s:%d: longer than %d lines; divide it" % (path, len(lines), lines_max))
    for number, line in enumerate(lines, 1):
        if MARKS.search(line):
            out.append("%s:%d: a mark of unfinished work" % (path, number))
        if PRINTS_IN.match(path) and PRINTS.search(line):
            out.append("%s:%d: lairctl prints by control/screen/output.hpp" % (path, number))
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


def sources_by_room(files):
    """How many sources each room of LAYERS holds."""
    return collections.Counter(layer_of(name) for name in files if name.endswith(SOURCES))


def check_rooms(files, text):
    """The table of rooms in ARCHITECTURE.md against the tree: every room, with its count."""
    told = {m[1]: int(m[2]) for m in re.finditer(r"^\| `([a-z_/]+)` \| (\d+) \|", text, re.M)}
    held = sources_by_room(files)
    out = ["ARCHITECTURE.md: no row for the room %s" % room for room in LAYERS if room not in told]
    out += ["ARCHITECTURE.md: no room is called %s" % room for room in told if room not in LAYERS]
    return out + ["ARCHITECTURE.md: %s holds %d sources, not %d" % (room, held[room], count)
                  for room, count in told.items() if room in LAYERS and held[room] != count]


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
    crowd = collections.Counter(os.path.dirname(name) for name in files
                                if name.endswith(SOURCES + (".py",)))
    breaches += ["%s: %d sources; a room has at most %d" % (folder, count, FOLDER_SOURCES_MAX)
                 for folder, count in sorted(crowd.items()) if count > FOLDER_SOURCES_MAX]
    with open(os.path.join(root, "ARCHITECTURE.md"), encoding="utf-8") as f:
        breaches += check_rooms(files, f.read())
    excepted = [key[0] for key in PURE_EXCEPTIONS] + list(PURE_FILES_EXCEPTED)
    breaches += ["%s: an exception for a file that is gone" % name
                 for name in excepted if name not in files]
    for breach in breaches:
        print(breach)
    print("%d files checked, %d breaches" % (checked, len(breaches)))
    return 0 if checked > 100 and not breaches else 1


def self_test():
    first = {"base", "json", "config", "cli", "agent", "consensus", "control", "power", "mqtt", "lab",
             "trainer_protocol", "datasets", "promote", "trainers", "models"}
    bad = [
        ("base/a.hpp", '#include "json/value.hpp"'),
        ("json/a.cpp", '#include "config/schema.hpp"'),
        ("agent/core/step/step.cpp", '#include "agent/agent.hpp"'),
        ("agent/core/step/step.cpp", '#include "json/value.hpp"'),
        ("agent/core/state/state.cpp", '#include "agent/core/step/stepper.hpp"'),
        ("agent/placement/need.cpp", '#include "agent/policies/policy.hpp"'),
        ("agent/placement/bid.cpp", '#include "agent/core/step/step.hpp"'),
        ("agent/placement/planner/verify.cpp", '#include "agent/placement/search/solve.hpp"'),
        ("agent/placement/search/solve.cpp", "#include <chrono>"),
        ("lab/placement/runs.cpp", "#include <coin/Cbc_C_Interface.h>"),
        ("agent/core/state/state.cpp", '#include "agent/placement/need.hpp"'),
        ("agent/policies/a.cpp", "  #  include <chrono>"),
        ("agent/core/step/a.cpp", "#include <sys/socket.h>"),
        ("agent/core/step/a.cpp", "#include <unordered_map>"),
        ("power/model/meter.cpp", '#include "power/readers/sysfs.hpp"'),
        ("power/model/meter.cpp", "#include <fstream>"),
        ("base/archive.cpp", "#include <cstdlib>"),
        ("agent/view/a.cpp", '#include "agent/replay/replay.hpp"'),
        ("agent/view/a.cpp", "#include <nlohmann/json.hpp>"),
        ("agent/journal/journal.cpp", "#include <sqlite3.h>"),
        ("control/commands/setup/pki_command.cpp", "#include <CLI/CLI.hpp>"),
        ("cli/command.hpp", "#include <CLI/CLI.hpp>"),
        ("agent/agent.cpp", "#include <spdlog/spdlog.h>"),
        ("mqtt/codec/topics.cpp", '#include "mqtt/client/connection.hpp"'),
        ("mqtt/codec/topics.cpp", "#include <mutex>"),
        ("mqtt/sign/a.cpp", '#include "mqtt/client/connection.hpp"'),
        ("mqtt/client/outbox.cpp", "#include <mqtt/async_client.h>"),
        ("mqtt/client/client.cpp", "#include <openssl/evp.h>"),
        ("agent/fleet/link.cpp", "#include <mqtt/message.h>"),
        ("agent/fleet/link.cpp", "#include <MQTTAsync.h>"),
        ("agent/core/step/step.cpp", '#include "mqtt/codec/topics.hpp"'),
        ("agent/settings/settings.cpp", '#include "agent/view/metrics_port.hpp"'),
        ("consensus/register.cpp", '#include "consensus/ledger/ledger.hpp"'),
        ("control/commands/a.cpp", '#include "agent/os/loop.hpp"'),
        ("control/screen/a.cpp", '#include "control/commands/commands.hpp"'),
        ("lab/fleet/a.cpp", '#include "agent/fleet/link.hpp"'),
        ("trainers/session.cpp", '#include "agent/trainer_host/trainer.hpp"'),
        ("agent/replay/replay.cpp", '#include "agent/journal/journal.hpp"'),
        ("agent/settings/settings.cpp", "#include <filesystem>"),
        ("agent/view/metrics.cpp", "#include <unistd.h>"),
        ("agent/view/status.cpp", "#include <chrono>"),
        ("agent/commands/requests.cpp", "#include <sys/socket.h>"),
        ("trainer_protocol/to_agent.cpp", '#include "agent/core/state/limits.hpp"'),
        ("trainer_protocol/to_agent.cpp", "#include <unistd.h>"),
        ("datasets/idx.cpp", '#include "json/value.hpp"'),
        ("promote/main.cpp", '#include "agent/core/state/limits.hpp"'),
        ("promote/main.cpp", '#include "trainers/session.hpp"'),
        ("promote/trtexec.cpp", "#include <NvInfer.h>"),
        ("models/metric.cpp", "#include <fstream>"),
        ("lab/cotrain/a.cpp", "#include <zlib.h>"),
        ("garage/a.cpp", '#include "base/error.hpp"'),
        ("lab/a.cpp", '#include "sibling.hpp"'),
        ("lab/a.cpp", "// TO" + "DO: later"),
        ("docs/a.md", "see /ho" + "me/somebody/laird"),
        ("lab/a.cpp", "int x;\n" * (LINES_MAX + 1)),
    ]
    bad.append(("control/commands/a.cpp", '  std::printf("%s", reply.text.c_str());'))
    good = [
        ("control/screen/output.cpp", "  std::fwrite(text.data(), 1, text.size(), stdout);"),
        ("base/require.cpp", "#include <cstdlib>"),
        ("agent/core/step/step.cpp", '#include "agent/policies/policy.hpp"\n#include <vector>'),
        ("agent/run.cpp", "#include <spdlog/spdlog.h>\n#include <sys/epoll.h>"),
        ("agent/main.cpp", '#include "cli/command.hpp"\n#include "power/commands/commands.hpp"'),
        ("agent/settings/settings_loader.cpp", "#include <filesystem>"),
        ("agent/view/status.cpp", "#include <cstdio>"),
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
    rooms = "".join("| `%s` | 0 | x |\n" % room for room in LAYERS)
    if check_rooms([], rooms) or len(check_rooms(["os/fd.cpp"], rooms)) != 1 or (
            len(check_rooms([], "")) != len(LAYERS)):
        wrong.append("the table of rooms is not checked")
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
