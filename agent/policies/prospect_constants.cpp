// Written by `laird-lab laira --real DIR --tune CHECKOUT`; docs/experiments.md says how.
// clang-format off
#include "agent/policies/prospect.hpp"

namespace laird::policies {

const ProspectSet& shipped_prospects() {
  static constexpr ProspectSet kSet = {
          .planned =
          {.mean = {0.7156, 0.1013, -3.314, 0.7867, -0.8109, 1.119, -1.078},
           .scale = {2.024, 0.1573, 1.5, 0.869, 1.218, 0.9878, 2.241},
           .reach_offset = 1.161,
           .reach = {0.9326, -1.139, -0.2515, 1.18, -1.923, 0.4873, 0.622},
           .need_offset = {-7.549, -6.455, -5.405, -4.566, -3.981, -3.23, -2.719, -1.977, -1.13, -0.434, 0.2443, 0.9623, 1.913, 3.084, 9.596, 9.596},
           .need = {0.4419, 0.4613, -0.3527, 0.4676, -1.171, 0.288, 0.4252}},
          .unplanned =
          {.mean = {0.9618, 0.06164, -3.924, 0.7867, -0.8109, 1.119, -1.375},
           .scale = {1.909, 0.1101, 1.576, 0.869, 1.218, 0.9878, 2.536},
           .reach_offset = 1.127,
           .reach = {0.7749, -0.9515, -0.3178, 1.142, -1.792, 0.3194, 0.452},
           .need_offset = {-6.477, -5.356, -4.29, -3.287, -2.592, -1.912, -1.129, -0.3404, 0.4118, 1.141, 1.834, 2.547, 3.265, 3.959, 5.513, 7.738},
           .need = {0.4498, 0.006757, -1.148, 0.7605, -1.633, 0.751, 0.6781}}};
  return kSet;
}

}  // namespace laird::policies
