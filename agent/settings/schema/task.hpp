// The section of the settings that is a task, and the whole of a task's file.
#pragma once

#include <string_view>

#include "agent/settings/promote_task.hpp"
#include "config/schema.hpp"

namespace laird::agent {

inline constexpr std::string_view kTaskLaneKinds[] = {"gpu", "cpu"};

inline constexpr config::Field kSweepFields[] = {
    {.name = "name",
     .type = config::Type::kName,
     .why = "The tasks with this name try values of one thing."},
    {.name = "stop_below",
     .type = config::Type::kNumber,
     .why = "A member ends when both its chance to reach its target and its chance to come below "
            "the lowest loss that another member has shown are less than this; 0: never.",
     .fallback = "0.2",
     .max = 0.5},
};
inline constexpr config::Schema kSweep{"sweep", "Which tasks are judged together.", kSweepFields};

inline constexpr config::Field kTaskFields[] = {
    {.name = "name",
     .type = config::Type::kName,
     .why = "Names the task on this board and in the fleet; unique."},
    {.name = "trainer",
     .type = config::Type::kName,
     .why = "Which trainer of the board's allow-list runs it."},
    {.name = "params",
     .type = config::Type::kMap,
     .why = "Handed to the trainer as it is.",
     .fallback = "{}"},
    {.name = "deadline",
     .type = config::Type::kText,
     .why = "So long after acceptance (\"90s\", \"2h\"), or a time like 2027-01-31T18:00:00Z. "
            "Required, unless \"every\" is given: then so long after the beginning of each run, "
            "which ends with its window in any case.",
     .fallback = config::kOptional,
     .min = 2,
     .max = 40},
    {.name = "target_loss",
     .type = config::Type::kNumber,
     .why = "The task succeeds when a reported loss is at or below it.",
     .min = -1e300,
     .max = 1e300},
    {.name = "memory",
     .type = config::Type::kSize,
     .why = "What its trainer needs; a board that does not have it refuses the task.",
     .min = 1e6,
     .max = 1e12},
    {.name = "lane",
     .type = config::Type::kChoice,
     .why = "Which kind of lane of the board it runs on.",
     .fallback = "\"cpu\"",
     .choices = kTaskLaneKinds},
    {.name = "report_every",
     .type = config::Type::kInteger,
     .why = "Samples between two loss reports (B in the papers).",
     .fallback = "1000",
     .min = 1,
     .max = 1e9,
     .unit = "samples"},
    {.name = "planned_samples",
     .type = config::Type::kInteger,
     .why = "How long its author means it to train (epochs times data); helps forecasts, 0 if "
            "unknown.",
     .fallback = "0",
     .max = 9007199254740992.0,
     .unit = "samples"},
    {.name = "seed",
     .type = config::Type::kInteger,
     .why = "For the trainer's random numbers.",
     .fallback = "1",
     .max = 9007199254740992.0},
    {.name = "splittable",
     .type = config::Type::kBool,
     .why = "Whether placement may split it over boards.",
     .fallback = "false"},
    {.name = "movable",
     .type = config::Type::kBool,
     .why = "Whether the fleet may run it on another board: when it is moved, or when its board is "
            "gone for good ([titles](placement.md#titles)). `lairctl submit --any` says so by "
            "itself.",
     .fallback = "false"},
    {.name = "weight",
     .type = config::Type::kNumber,
     .why = "What its success is worth beside that of other tasks: where there is not enough time "
            "or power for all, on its board and in the fleet, the more valuable ones come first.",
     .fallback = "1",
     .min = 0.1,
     .max = 100},
    {.name = "fleet",
     .type = config::Type::kBool,
     .why = "Train one model together with every board of the fleet that has a task of this name, "
            "each on its own data; details under \"fleet\" in params.",
     .fallback = "false"},
    {.name = "every",
     .type = config::Type::kText,
     .why =
         "Do it again in each of these windows, by the board's local time: \"22:00-06:00 daily\", "
         "\"09:30-12:00 mon-fri\", \"01:00-05:00 sat,sun\" ([recurring "
         "tasks](models.md#again-every-night)).",
     .fallback = config::kOptional,
     .min = 11,
     .max = 60},
    {.name = "warm_start",
     .type = config::Type::kBool,
     .why = "Each run of a task that recurs begins with the model of the run before it.",
     .fallback = "false"},
    {.name = "sweep",
     .type = config::Type::kObject,
     .why =
         "A member of a sweep: it ends early once the others have left it behind. `lairctl submit "
         "--sweep` gives the name.",
     .fallback = config::kOptional,
     .of = &kSweep},
    {.name = "promote",
     .type = config::Type::kObject,
     .why = "When the target is reached, make an engine of the model, check it, and keep it as "
            "current ([models](models.md)); {} for the defaults.",
     .fallback = config::kOptional,
     .of = &kPromoteSchema},
};
inline constexpr config::Schema kTask{"task", "What to train, how well, and by when.", kTaskFields};

}  // namespace laird::agent
