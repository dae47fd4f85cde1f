// The settings of what computes forecasts.
#pragma once

#include <string_view>

#include "config/schema.hpp"

namespace laird::agent {

inline constexpr std::string_view kEstimatorDevices[] = {"auto", "cpu", "gpu"};
inline constexpr config::Field kEstimatorFields[] = {
    {.name = "device",
     .type = config::Type::kChoice,
     .why = "auto: the CPU, and the GPU for batches so large that a context of it (100 MB and "
            "more) pays; gpu: always the GPU. Whatever it is, a forecast has the same bits; where "
            "the GPU does not work the CPU does it, and the log says so "
            "(`laird board --gpu-check`).",
     .fallback = "\"auto\"",
     .choices = kEstimatorDevices},
};
inline constexpr config::Schema kEstimatorSchema{"estimator", "What computes forecasts.",
                                                 kEstimatorFields};

}  // namespace laird::agent
