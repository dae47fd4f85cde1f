#include "agent/policies/policy.hpp"
#include "agent/settings/schema/estimator.hpp"
#include "agent/settings/schema/task.hpp"
#include "agent/settings/settings.hpp"

namespace laird::agent {
namespace {

using config::Field;
using config::kOptional;
using config::Schema;
using config::Type;

constexpr double kNs = 1.0;
constexpr double kSecondNs = 1e9 * kNs;
constexpr std::string_view kLaneKinds[] = {"gpu", "cpu"};
constexpr std::string_view kProtocols[] = {"v1", "lines"};
constexpr std::string_view kLogLevels[] = {"debug", "info", "warn", "error"};

constexpr Field kLaneFields[] = {
    {.name = "name", .type = Type::kName, .why = "For people and logs."},
    {.name = "kind",
     .type = Type::kChoice,
     .why = "A task asks for a kind of lane; a lane runs one task at a time, or shares.",
     .choices = kLaneKinds},
    {.name = "cores",
     .type = Type::kNumber,
     .why = "CPU that the lane's trainers may use together, enforced by quota where there are "
            "cgroups.",
     .fallback = "1",
     .min = 0.01,
     .max = 256},
};
constexpr Schema kLane{"lane", "A place on the board where one task runs at a time.", kLaneFields};

constexpr Field kBoardFields[] = {
    {.name = "name",
     .type = Type::kText,
     .why = "auto (detect), the name of a known board (`laird board --list`), or the path of a "
            "board file.",
     .fallback = "\"auto\"",
     .min = 1,
     .max = 512},
    {.name = "lanes",
     .type = Type::kList,
     .why = "Instead of the board file's own lanes.",
     .fallback = kOptional,
     .min = 1,
     .max = core::kLanesMax,
     .of = &kLane},
    {.name = "memory",
     .type = Type::kSize,
     .why = "For all trainers together, instead of the machine's memory less the board's reserve.",
     .fallback = kOptional,
     .min = 1e6,
     .max = 1e13},
};
constexpr Schema kBoard{"board", "What this board has to give.", kBoardFields};

constexpr std::string_view kPowerSources[] = {"auto",     "sysfs",    "tegrastats",
                                              "recorded", "modelled", "none"};
constexpr Field kPowerFields[] = {
    {.name = "source",
     .type = Type::kChoice,
     .why = "Where power readings come from. auto: sysfs, else tegrastats, else none. modelled: "
            "computed from what runs, for machines without meters.",
     .fallback = "\"auto\"",
     .choices = kPowerSources},
    {.name = "file",
     .type = Type::kText,
     .why = "The capture that `recorded` plays.",
     .fallback = kOptional,
     .max = 512},
    {.name = "every",
     .type = Type::kDuration,
     .why = "Time between readings.",
     .fallback = "\"1s\"",
     .min = 0.05 * kSecondNs,
     .max = 60 * kSecondNs},
    {.name = "cap",
     .type = Type::kPower,
     .why =
         "Mean power the board is held to, \"15W\". An operator (`lairctl cap`) and the fleet may "
         "set lower ones; the lowest holds. Without any the board runs free.",
     .fallback = kOptional,
     .min = 100,
     .max = static_cast<double>(core::kCapMwMax)},
    {.name = "helper",
     .type = Type::kList,
     .why = "The privileged helper that caps the GPU's clock and switches live power modes: the "
            "socket it listens on (its name ends in .sock), or laird-priv with its arguments. "
            "Without it the cap is held "
            "by the step gate, quotas and the freezer alone.",
     .fallback = kOptional,
     .min = 1,
     .max = 16},
};
constexpr Schema kPower{"power", "Metering and the cap.", kPowerFields};

constexpr Field kTrainerFields[] = {
    {.name = "exec",
     .type = Type::kList,
     .why = "Program and arguments, started without a shell. An absolute path, or a name of a "
            "program beside laird or in /usr/lib/laird. With \"image\": what runs in it, if not "
            "what the image itself says.",
     .fallback = kOptional,
     .min = 1,
     .max = 64},
    {.name = "image",
     .type = Type::kText,
     .why = "The trainer is a container of this image, which is on the board already. It finds the "
            "agent by LAIRD_TRAINER_SOCKET (docs/containers.md).",
     .fallback = kOptional,
     .min = 1,
     .max = 255},
    {.name = "engine",
     .type = Type::kList,
     .why = "With \"image\": podman by its absolute path, and options for it, such as --root.",
     .fallback = "[\"/usr/bin/podman\"]",
     .min = 1,
     .max = 16},
    {.name = "protocol",
     .type = Type::kChoice,
     .why = "v1: speaks the trainer protocol. lines: only prints progress lines, and is frozen "
            "between its turns.",
     .fallback = "\"v1\"",
     .choices = kProtocols},
    {.name = "env",
     .type = Type::kMap,
     .why = "Environment variables; nothing else of the agent's environment is passed on.",
     .fallback = "{}",
     .max = 64},
    {.name = "check",
     .type = Type::kBool,
     .why =
         "Told `--laird-check -` behind its arguments, the program reads a task's params as JSON "
         "from standard input, and ends with 0, or with another code after saying what is wrong "
         "([trainers](trainer-protocol.md#checked-at-the-door)). The built-in ones need no word.",
     .fallback = "false"},
    {.name = "network",
     .type = Type::kBool,
     .why = "The trainer may use the network. Otherwise it has a loopback of its own, or no "
            "sockets at all where the system has no network namespaces.",
     .fallback = "false"},
};
constexpr Schema kTrainer{"trainer", "An entry of the allow-list: only these programs are started.",
                          kTrainerFields};

constexpr Field kCellFields[] = {
    {.name = "helper",
     .type = Type::kText,
     .why = "What starts trainers: the socket of a laird-cell that root runs (its name ends in "
            ".sock), or the program. Default: the socket /run/laird-cell/laird-cell.sock if it is "
            "there when the agent starts, else laird-cell beside laird or in /usr/libexec/laird.",
     .fallback = kOptional,
     .min = 1,
     .max = 100},
    {.name = "user",
     .type = Type::kName,
     .why = "The user that trainers run as, where laird-cell runs as root and the system has that "
            "user.",
     .fallback = "\"laird-trainer\""},
    {.name = "containers",
     .type = Type::kText,
     .why = "Where trainers that are images keep what belongs to one run of them: an absolute path "
            "that root alone can write.",
     .fallback = "\"/var/lib/laird-cell\"",
     .min = 1,
     .max = 45},
    {.name = "namespaces",
     .type = Type::kBool,
     .why = "Use namespaces where the system allows: trainers then see no process, no file of the "
            "agent's and no network.",
     .fallback = "true"},
    {.name = "check",
     .type = Type::kDuration,
     .why = "How long a submission waits for its trainer's own check of params and data. One that "
            "takes longer is ended, and the task is taken. 0s: none is made.",
     .fallback = "\"5s\"",
     .max = 60 * kSecondNs},
    {.name = "processes",
     .type = Type::kInteger,
     .why = "Processes and threads of one trainer.",
     .fallback = "512",
     .min = 8,
     .max = 100000},
    {.name = "open_files",
     .type = Type::kInteger,
     .why = "Open files of each process of a trainer.",
     .fallback = "4096",
     .min = 64,
     .max = 1000000},
    {.name = "disk",
     .type = Type::kSize,
     .why = "What a task's folder may hold, and any file of it. A trainer that passes it is ended, "
            "and its task fails if it does so again and again.",
     .fallback = "\"4GB\"",
     .min = 1e6,
     .max = 1e13},
    {.name = "tmp",
     .type = Type::kSize,
     .why = "What /dev/shm, and under root's laird-cell /tmp, may hold in a trainer's cell; it is "
            "memory.",
     .fallback = "\"256MB\"",
     .min = 1e6,
     .max = 1e12},
};
constexpr Schema kCell{"cell", "How trainers are kept apart from the agent and the board.",
                       kCellFields};

constexpr Field kTimingFields[] = {
    {.name = "start_timeout",
     .type = Type::kDuration,
     .why = "A trainer that is not ready by then is restarted.",
     .fallback = "\"2m\"",
     .min = 0.1 * kSecondNs,
     .max = 3600 * kSecondNs},
    {.name = "hang_timeout",
     .type = Type::kDuration,
     .why = "A running trainer silent for this long (and for ten of its usual reports) is hung.",
     .fallback = "\"1m\"",
     .min = 0.1 * kSecondNs,
     .max = 86400 * kSecondNs},
    {.name = "pause_timeout",
     .type = Type::kDuration,
     .why = "A trainer that does not stop for a pause by then is restarted from its checkpoint.",
     .fallback = "\"30s\"",
     .min = 0.1 * kSecondNs,
     .max = 3600 * kSecondNs},
    {.name = "stop_grace",
     .type = Type::kDuration,
     .why = "Time to write a last checkpoint before the process is killed.",
     .fallback = "\"10s\"",
     .min = 0.1 * kSecondNs,
     .max = 600 * kSecondNs},
    {.name = "checkpoint_every",
     .type = Type::kDuration,
     .why = "How much work a crash may cost.",
     .fallback = "\"30s\"",
     .min = 0.1 * kSecondNs,
     .max = 86400 * kSecondNs},
    {.name = "backoff_min",
     .type = Type::kDuration,
     .why = "First wait after a crash; doubles with each in a row.",
     .fallback = "\"1s\"",
     .min = 0.01 * kSecondNs,
     .max = 3600 * kSecondNs},
    {.name = "backoff_max",
     .type = Type::kDuration,
     .why = "Longest wait after a crash.",
     .fallback = "\"1m\"",
     .min = 0.01 * kSecondNs,
     .max = 86400 * kSecondNs},
    {.name = "attempts_max",
     .type = Type::kInteger,
     .why = "Crashes in a row, without a new checkpoint between, before the task has failed.",
     .fallback = "5",
     .min = 1,
     .max = 1000},
};
constexpr Schema kTiming{"timing", "How patient the agent is with trainers.", kTimingFields};

constexpr Field kJournalFields[] = {
    {.name = "file_max",
     .type = Type::kSize,
     .why = "A larger file is closed and a new one begun.",
     .fallback = "\"64MB\"",
     .min = 1e5,
     .max = 1e11},
    {.name = "total_max",
     .type = Type::kSize,
     .why = "The oldest files go when all together are larger.",
     .fallback = "\"512MB\"",
     .min = 1e6,
     .max = 1e12},
    {.name = "age_max",
     .type = Type::kDuration,
     .why = "Older files go.",
     .fallback = "\"14d\"",
     .min = 86400 * kSecondNs,
     .max = 3660.0 * 86400 * kSecondNs},
};
constexpr Schema kJournal{"journal", "Limits of the journal on disk.", kJournalFields};

constexpr Field kPushFields[] = {
    {.name = "folder",
     .type = Type::kText,
     .why = "A folder that the agent can write and trainers can read; it counts as one of the "
            "data_roots.",
     .min = 1,
     .max = 1024},
    {.name = "quota",
     .type = Type::kSize,
     .why = "What the folder may hold.",
     .fallback = "\"1GB\"",
     .min = 1e3,
     .max = 1e12},
};
constexpr Schema kPush{"push", "Where operators with the right `push` may put files.", kPushFields};

constexpr Field kMetricsFields[] = {
    {.name = "listen",
     .type = Type::kText,
     .why = "Address and port, numbers only. Whoever reaches it can read the metrics: keep it on "
            "this machine, or behind something that asks who is there.",
     .fallback = "\"127.0.0.1:9477\"",
     .min = 9,
     .max = 64},
};
constexpr Schema kMetrics{"metrics", "OpenMetrics for a scraper, at http://<listen>/metrics.",
                          kMetricsFields};

constexpr Field kFloorFields[] = {
    {.name = "power",
     .type = Type::kPower,
     .why = "Reserved for the board whatever happens; at least what it draws when idle.",
     .fallback = "\"0W\"",
     .max = 1e9},
    {.name = "cpu",
     .type = Type::kNumber,
     .why = "Cores reserved for it.",
     .fallback = "0",
     .max = 4096},
    {.name = "gpu",
     .type = Type::kNumber,
     .why = "Part of one gpu's time reserved for it.",
     .fallback = "0",
     .max = 64},
};
constexpr Schema kFloor{"member", "A board of the fleet, and its floors.", kFloorFields};

constexpr Field kBudgetFields[] = {
    {.name = "power",
     .type = Type::kPower,
     .why = "Of all boards together. Left out: not limited.",
     .fallback = kOptional,
     .min = 1,
     .max = 1e12},
    {.name = "cpu",
     .type = Type::kNumber,
     .why = "Cores of all boards together. Left out: not limited.",
     .fallback = kOptional,
     .min = 0.001,
     .max = 1e6},
    {.name = "gpu",
     .type = Type::kNumber,
     .why = "Gpus of all boards together, in whole gpus' time. Left out: not limited.",
     .fallback = kOptional,
     .min = 0.001,
     .max = 1e5},
};
constexpr Schema kBudget{"budget", "What the whole fleet may use.", kBudgetFields};

constexpr Field kTlsFields[] = {
    {.name = "ca",
     .type = Type::kText,
     .why = "The fleet's certificate authority, PEM.",
     .min = 1,
     .max = 512},
    {.name = "cert",
     .type = Type::kText,
     .why = "This board's certificate, CN = its node name.",
     .min = 1,
     .max = 512},
    {.name = "key",
     .type = Type::kText,
     .why = "Its key, readable by the agent alone.",
     .min = 1,
     .max = 512},
};
constexpr Schema kTls{"tls", "How the board proves who it is.", kTlsFields};

constexpr Field kOperatorFields[] = {
    {.name = "name", .type = Type::kName, .why = "As in the operator's certificate."},
    {.name = "key",
     .type = Type::kText,
     .why = "The public half of the operator's signing key, base64 (`lairctl pki issue` shows it).",
     .min = 44,
     .max = 44},
    {.name = "may",
     .type = Type::kList,
     .why = "The commands the operator may give; \"*\" for all.",
     .fallback = "[\"*\"]",
     .max = 32},
};
constexpr Schema kOperator{"operator", "Who may give commands over the network.", kOperatorFields};

constexpr Field kFleetFields[] = {
    {.name = "name", .type = Type::kName, .why = "Names the fleet's topics on the broker."},
    {.name = "brokers",
     .type = Type::kList,
     .why = "Tried in order: \"mqtts://broker.local:8883\".",
     .min = 1,
     .max = 8},
    {.name = "tls",
     .type = Type::kObject,
     .why = "Required, unless insecure_lab is set.",
     .fallback = kOptional,
     .of = &kTls},
    {.name = "insecure_lab",
     .type = Type::kBool,
     .why = "Allow mqtt:// without TLS: for a broker on this machine only.",
     .fallback = "false"},
    {.name = "operators",
     .type = Type::kList,
     .why = "Whose signed commands are obeyed; nobody else's are.",
     .fallback = "[]",
     .max = 64,
     .of = &kOperator},
    {.name = "epoch",
     .type = Type::kInteger,
     .why = "Which founding of the fleet this is; a higher one starts the ledger anew.",
     .fallback = "1",
     .min = 1,
     .max = 1e9},
    {.name = "members",
     .type = Type::kMap,
     .why = "The founding boards by node name; the same in every board's file.",
     .max = core::kMembersMax,
     .of = &kFloor},
    {.name = "budget",
     .type = Type::kObject,
     .why = "What the members share until an operator sets another.",
     .fallback = "{}",
     .of = &kBudget},
    {.name = "tick",
     .type = Type::kDuration,
     .why = "How often peers speak to each other.",
     .fallback = "\"1s\"",
     .min = static_cast<double>(core::kTickMin),
     .max = static_cast<double>(core::kTickMax)},
    {.name = "lease",
     .type = Type::kDuration,
     .why = "A board unheard for so long falls to its floor, and its share goes to the others; at "
            "least 20 ticks.",
     .fallback = "\"30s\"",
     .min = static_cast<double>(core::kLeaseTicksMin * core::kTickMin),
     .max = static_cast<double>(core::kLeaseMax)},
    {.name = "publish_every",
     .type = Type::kDuration,
     .why = "How often the board tells the fleet what it draws and how its tasks stand. Longer is "
            "easier on a slow link; what changes the shares is never put off.",
     .fallback = "\"1s\"",
     .min = kSecondNs,
     .max = 60 * kSecondNs},
    {.name = "share_runs",
     .type = Type::kBool,
     .why =
         "Whether the board tells the others how its ended tasks learned, when they begin the same "
         "work, and asks them when it does; no data and no model leaves it.",
     .fallback = "true"},
};
constexpr Schema kFleet{"fleet", "The board's place in a fleet; without it the board is alone.",
                        kFleetFields};

const Field* settings_fields() {
  // Not constexpr: the names of the policies come from their registry.
  static const Field fields[] = {
      {.name = "node", .type = Type::kName, .why = "This board's name.", .fallback = "\"board\""},
      {.name = "state_dir",
       .type = Type::kText,
       .why = "Journal, checkpoints and trainer logs; the agent must be able to write it.",
       .fallback = "\"/var/lib/laird\"",
       .min = 1,
       .max = 512},
      {.name = "control_socket",
       .type = Type::kText,
       .why = "Where lairctl reaches this agent; \"none\" for no socket. Default: laird.sock in "
              "state_dir.",
       .fallback = kOptional,
       .max = 100},
      {.name = "board",
       .type = Type::kObject,
       .why = "What this board has to give.",
       .fallback = "{}",
       .of = &kBoard},
      {.name = "power",
       .type = Type::kObject,
       .why = "Where power readings come from.",
       .fallback = "{}",
       .of = &kPower},
      {.name = "policy",
       .type = Type::kChoice,
       .why = "Who gets the next slice of a lane.",
       .fallback = "\"foresight\"",
       .choices = policies::policy_names()},
      {.name = "slice",
       .type = Type::kDuration,
       .why = "How long a turn lasts, where the policy does not choose it.",
       .fallback = "\"1s\"",
       .min = static_cast<double>(core::kSliceMin),
       .max = static_cast<double>(core::kSliceMax)},
      {.name = "trainers",
       .type = Type::kMap,
       .why = "The allow-list: names that tasks use, and what they start.",
       .fallback =
           R"({"linear":{"exec":["laird-train","linear"]},"svm":{"exec":["laird-train","svm"]},"softmax":{"exec":["laird-train","softmax"]},"mlp":{"exec":["laird-train","mlp"]}})",
       .max = core::kTrainersMax,
       .of = &kTrainer},
      {.name = "cell",
       .type = Type::kObject,
       .why = "How trainers are kept apart from the agent and the board.",
       .fallback = "{}",
       .of = &kCell},
      {.name = "data_roots",
       .type = Type::kList,
       .why = "Folders in which the built-in trainers may read data; they refuse files elsewhere, "
              "their task's own folder excepted.",
       .fallback = R"(["/usr/share/datasets", "/srv", "/opt", "/mnt", "/media"])",
       .max = 32},
      {.name = "tasks",
       .type = Type::kList,
       .why = "Submitted at every start; a task known from before is left as it is.",
       .fallback = "[]",
       .max = 256,
       .of = &kTask},
      {.name = "timing",
       .type = Type::kObject,
       .why = "How patient the agent is with trainers.",
       .fallback = "{}",
       .of = &kTiming},
      {.name = "journal",
       .type = Type::kObject,
       .why = "Limits of the journal on disk.",
       .fallback = "{}",
       .of = &kJournal},
      {.name = "fleet",
       .type = Type::kObject,
       .why = "Join a fleet over MQTT; without it the board is alone.",
       .fallback = kOptional,
       .of = &kFleet},
      {.name = "metrics",
       .type = Type::kObject,
       .why = "Serve metrics over HTTP; without it no port is opened.",
       .fallback = kOptional,
       .of = &kMetrics},
      {.name = "push",
       .type = Type::kObject,
       .why = "Operators may push files to this board; without it none may.",
       .fallback = kOptional,
       .of = &kPush},
      {.name = "estimator",
       .type = Type::kObject,
       .why = "What computes forecasts.",
       .fallback = "{}",
       .of = &kEstimatorSchema},
      {.name = "cgroups",
       .type = Type::kBool,
       .why = "Use control groups where they are writable: quotas, memory limits, freezer.",
       .fallback = "true"},
      {.name = "log_level",
       .type = Type::kChoice,
       .why = "How much goes to the log.",
       .fallback = "\"info\"",
       .choices = kLogLevels},
  };
  return fields;
}
constexpr std::size_t kSettingsFields = 19;

}  // namespace

const Schema& task_schema() { return kTask; }

const Schema& settings_schema() {
  static const Schema schema{"laird.json", "The agent's configuration.",
                             std::span(settings_fields(), kSettingsFields)};
  return schema;
}

std::string settings_reference() {
  return "# Configuration reference\n\n"
         "This page is written by `laird check --reference`; a test keeps it true. Files are JSON "
         "with `//` and\n`/* */` comments. Durations, sizes and powers carry their unit: \"90s\", "
         "\"512MB\", \"15W\". An unknown key is an\nerror that names the nearest known one. A key "
         "`comment` is allowed everywhere and ignored.\n\n"
         "Check a file without starting an agent: `laird check FILE`.\n\n## laird.json\n\n" +
         config::reference(settings_schema());
}

}  // namespace laird::agent
