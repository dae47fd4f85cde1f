// The schemas of the bodies of requests; requests.cpp alone uses them.
#pragma once

#include <string_view>

#include "agent/core/state/task.hpp"
#include "config/schema.hpp"

namespace laird::agent::request_bodies {

using config::Field;
using config::Schema;
using config::Type;

inline constexpr Schema kNothing{"the body", "Nothing.", {}};

inline constexpr Field kTaskNameFields[] = {
    {.name = "task",
     .type = Type::kText,
     .why = "give the name of a task",
     .min = 1,
     .max = core::kNameBytesMax},
};
inline constexpr Schema kTaskName{"the body", "The name of a task.", kTaskNameFields};

inline constexpr Field kLogsFields[] = {
    {.name = "task",
     .type = Type::kText,
     .why = "give the name of a task",
     .min = 1,
     .max = core::kNameBytesMax},
    {.name = "from",
     .type = Type::kInteger,
     .why = "where to begin, in bytes",
     .fallback = config::kOptional,
     .max = 1e15},
};
inline constexpr Schema kLogs{"the body", "Whose log, and from where on.", kLogsFields};

inline constexpr Field kRollbackFields[] = {
    {.name = "model", .type = Type::kName, .why = "give the name of a model"},
    {.name = "from",
     .type = Type::kText,
     .why = "give the version that is current and is to be left",
     .min = 1,
     .max = 16},
};
inline constexpr Schema kRollback{"the body", "Which model, and from which version.",
                                  kRollbackFields};

inline constexpr Field kUpgradeFields[] = {
    {.name = "version",
     .type = Type::kText,
     .why = "give the version of a package: 0.2.0",
     .min = 1,
     .max = 32},
};
inline constexpr Schema kUpgrade{"the body", "Which version.", kUpgradeFields};

inline constexpr Field kPullFields[] = {
    {.name = "name", .type = Type::kName, .why = "give the name of a model or a task"},
    {.name = "file",
     .type = Type::kText,
     .why = "one of the files",
     .fallback = config::kOptional,
     .min = 1,
     .max = 255},
    {.name = "version",
     .type = Type::kText,
     .why = "as the list of files said it",
     .fallback = config::kOptional,
     .min = 1,
     .max = 64},
    {.name = "from",
     .type = Type::kInteger,
     .why = "where to begin, in bytes",
     .fallback = config::kOptional,
     .max = 1e15},
};
inline constexpr Schema kPull{"the body", "Whose files, or which piece of one.", kPullFields};

inline constexpr Field kMoveFields[] = {
    {.name = "task", .type = Type::kName, .why = "give the name of a task"},
    {.name = "to", .type = Type::kName, .why = "give the name of a board"},
};
inline constexpr Schema kMove{"the body", "Which task, and where to.", kMoveFields};

inline constexpr Field kPushFields[] = {
    {.name = "model",
     .type = Type::kName,
     .why = "a file of this model; without, it is data",
     .fallback = config::kOptional},
    {.name = "file", .type = Type::kText, .why = "one plain name", .min = 1, .max = 200},
    {.name = "bytes", .type = Type::kInteger, .why = "of the whole file", .min = 1, .max = 1e12},
    {.name = "sha256", .type = Type::kText, .why = "of the whole file", .min = 64, .max = 64},
    {.name = "from",
     .type = Type::kInteger,
     .why = "where the piece begins, in bytes",
     .fallback = config::kOptional,
     .max = 1e12},
    {.name = "bytes64",
     .type = Type::kText,
     .why = "a piece of at most 24 KiB, as Base64",
     .fallback = config::kOptional,
     .min = 1,
     .max = 33000},
};
inline constexpr Schema kPush{"the body", "A file, or a piece of it.", kPushFields};

inline constexpr Field kEditFields[] = {
    {.name = "task",
     .type = Type::kText,
     .why = "give the name of a task",
     .min = 1,
     .max = core::kNameBytesMax},
    {.name = "deadline",
     .type = Type::kText,
     .why = "\"+2h\" for later, \"2h\" from now, or a time like 2027-01-31T18:00:00Z",
     .fallback = config::kOptional,
     .min = 2,
     .max = 40},
    {.name = "weight",
     .type = Type::kNumber,
     .why = "what its success is worth",
     .fallback = config::kOptional,
     .min = 0.1,
     .max = 100},
    {.name = "every",
     .type = Type::kText,
     .why = "other windows for a task that recurs: \"22:00-06:00 daily\"",
     .fallback = config::kOptional,
     .min = 11,
     .max = 60},
};
inline constexpr Schema kEdit{"the body", "What to change of a task.", kEditFields};

// A task is checked by its own schema.
inline constexpr Field kTaskFields[] = {
    {.name = "task", .type = Type::kAny, .why = "give a task, an object"},
};
inline constexpr Field kSubmitFields[] = {
    {.name = "task", .type = Type::kAny, .why = "give a task, an object"},
    {.name = "replace",
     .type = Type::kBool,
     .why = "take the name of the task that has it",
     .fallback = "false"},
};
inline constexpr Schema kSubmit{"the body", "A whole task.", kSubmitFields};
inline constexpr Schema kTask{"the body", "A whole task.", kTaskFields};

// Two spellings of one thing, numbers for programs and texts for people; null is the same as none.
inline constexpr Field kCapFields[] = {
    {.name = "power_w", .type = Type::kAny, .why = "in watts", .fallback = config::kOptional},
    {.name = "for_s", .type = Type::kAny, .why = "in seconds", .fallback = config::kOptional},
    {.name = "cap", .type = Type::kAny, .why = "like \"15W\"", .fallback = config::kOptional},
    {.name = "for", .type = Type::kAny, .why = "like \"1h\"", .fallback = config::kOptional},
};
inline constexpr Schema kCap{"the body", "A cap, and for how long.", kCapFields};

inline constexpr Field kPlaceFields[] = {
    {.name = "epoch", .type = Type::kInteger, .why = "give the event's epoch"},
    {.name = "seq", .type = Type::kInteger, .why = "give the event's seq"},
};
inline constexpr Schema kPlace{"an event's place", "Where an event stands.", kPlaceFields};

inline constexpr Field kTaskPlaceFields[] = {
    {.name = "key", .type = Type::kInteger, .why = "give the task's key"},
};
inline constexpr Schema kTaskPlace{"a task's place", "Where a task that is over stands.",
                                   kTaskPlaceFields};

inline constexpr std::string_view kWhat[] = {"tasks", "plan",   "config", "events",
                                             "power", "status", "ended"};
inline constexpr Field kGetFields[] = {
    {.name = "what",
     .type = Type::kChoice,
     .why = "say one of tasks, plan, config, events, power, status or ended",
     .choices = kWhat},
    {.name = "key", .type = Type::kText, .why = "a setting", .fallback = config::kOptional},
    {.name = "since_ms",
     .type = Type::kInteger,
     .why = "a Unix time in milliseconds",
     .fallback = config::kOptional},
    {.name = "before",
     .type = Type::kObject,
     .why = "only older events",
     .fallback = config::kOptional,
     .of = &kPlace},
    {.name = "before_task",
     .type = Type::kObject,
     .why = "only tasks that ended before this one",
     .fallback = config::kOptional,
     .of = &kTaskPlace},
};
inline constexpr Schema kGet{"the body", "What to tell.", kGetFields};

inline constexpr Field kConfigFields[] = {
    {.name = "set", .type = Type::kAny, .why = "by key", .fallback = config::kOptional},
    {.name = "unset", .type = Type::kAny, .why = "keys", .fallback = config::kOptional},
    {.name = "apply", .type = Type::kAny, .why = "all of them", .fallback = config::kOptional},
    {.name = "dry_run", .type = Type::kAny, .why = "only look", .fallback = config::kOptional},
    {.name = "confirm_within_s", .type = Type::kAny, .why = "s", .fallback = config::kOptional},
    {.name = "confirm", .type = Type::kAny, .why = "an id", .fallback = config::kOptional},
};
inline constexpr Schema kConfig{"the body", "A change of the settings.", kConfigFields};

}  // namespace laird::agent::request_bodies
