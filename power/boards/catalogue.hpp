// The boards this build knows, and which of them this machine is.
//
// The files of board_configs/ are compiled in, so a board works before anything is installed; a
// file of the same name in the configuration folder takes precedence.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "config/schema.hpp"
#include "power/model/board.hpp"

namespace laird::power {

struct EmbeddedBoard {
  std::string_view file;  // "orin_nano_8gb.json"
  std::string_view text;
};

[[nodiscard]] std::span<const EmbeddedBoard> embedded_boards();

// All problems of the file in one error text, one per line.
[[nodiscard]] Result<Board> load_board(const std::string& path);
[[nodiscard]] Result<Board> board_from_text(std::string_view text, std::string_view source);

// By name ("orin-nano-8gb"): <folder>/<name with _>.json when the folder has it, else the one
// compiled in. An unknown name is an error that names the nearest known one.
[[nodiscard]] Result<Board> find_board(const std::string& name, const std::string& folder);
[[nodiscard]] std::vector<std::string> board_names();

// What the machine says of itself; every part may be missing.
struct MachineIdentity {
  std::vector<std::string> compatible;  // device-tree, in order
  std::string model;
  std::string serial;
  std::string l4t;            // "R36.4.7"; empty when unknown
  std::string l4t_from;       // the file it came from
  std::string boot_spec;      // TNSPEC of nv_boot_control.conf
  std::string nvpmodel_file;  // where /etc/nvpmodel.conf leads
  std::int64_t memory_bytes = 0;
  int cpu_cores = 0;

  [[nodiscard]] bool is_jetson() const;
};

// Reads below `root` ("" for the real one); never fails, what is missing stays empty.
[[nodiscard]] MachineIdentity read_identity(const std::string& root);

struct Detection {
  Board board;
  std::vector<std::string> evidence;     // "device-tree compatible has p3767-0005"
  std::vector<std::string> uncertainty;  // what is assumed, and how to make sure
};

// The board whose module number stands in `compatible`; else one of the same SoC with the nearest
// memory size, said to be uncertain; else generic. Never refuses.
[[nodiscard]] Detection detect_board(const MachineIdentity& identity, std::span<const Board> known);
[[nodiscard]] std::vector<Board> all_boards(const std::string& folder);

// JetPack of an L4T release ("6.2.1" for "R36.4.7"); empty when the table has no such release.
[[nodiscard]] std::string_view jetpack_of(std::string_view l4t);

}  // namespace laird::power
