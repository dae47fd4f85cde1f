// The machine's own table of power modes, /etc/nvpmodel.conf, and which of them switch without a
// reboot.
//
// A mode lists settings, one per line: "CPU_ONLINE CORE_4 0", "TPC_POWER_GATING TPC_PG_MASK 248",
// "CPU_A78_0 MAX_FREQ 1510400". Cores and GPU partitions that are switched off need a reboot to
// come back, so two modes that agree on every such line are live to one another. That is what the
// file says; whether the board agrees is known only once it was tried. So the helper uses a mode
// that is listed in /etc/laird/live_modes and that this file does not speak against.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "power/model/board.hpp"

namespace laird::power {

inline constexpr std::size_t kPowerModesMax = 64;

struct ModeTable {
  struct Mode {
    std::int64_t id = 0;
    std::string name;
    std::string shape;  // its lines about cores and partitions
  };
  std::vector<Mode> modes;
  std::int64_t default_id = -1;

  // Sets of two and more modes that switch among each other without a reboot, by the file.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> live_groups() const;
  // The file gives the two modes other cores or partitions. False for a mode it does not know.
  [[nodiscard]] bool needs_reboot(std::int64_t from, std::int64_t to) const;
};

// What does not parse is left out.
[[nodiscard]] ModeTable parse_mode_table(std::string_view text);
// Reads below `root`; empty when there is no such file.
[[nodiscard]] ModeTable read_mode_table(const std::string& root);
// The ids in /etc/laird/live_modes, for people: the helper checks who may write the file.
[[nodiscard]] std::vector<std::int64_t> read_live_modes(const std::string& root);

}  // namespace laird::power
