#include "power/readers/open_reader.hpp"

#include <unistd.h>

#include <cstdlib>

#include "power/readers/gpu_reader.hpp"
#include "power/readers/modelled_reader.hpp"
#include "power/readers/recorded_reader.hpp"
#include "power/readers/sysfs/sysfs_inventory.hpp"
#include "power/readers/sysfs/sysfs_reader.hpp"
#include "power/readers/tegrastats/tegrastats_reader.hpp"

namespace laird::power {
namespace {

// No meter is a legal and visible answer.
class NoReader final : public Reader {
 public:
  explicit NoReader(std::string why) : why_(std::move(why)) {}
  [[nodiscard]] std::optional<PowerReading> poll(TimeNs) override { return std::nullopt; }
  [[nodiscard]] TimeNs next_poll_at(TimeNs) const override { return kNever; }
  [[nodiscard]] ReaderStatus status(TimeNs) const override {
    return ReaderStatus{Source::kNone, false, false, why_, {}};
  }

 private:
  std::string why_;
};

bool in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = std::string(rest.substr(0, colon)) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return false;
}

// Adds NVML to a live reader where the board's file says so.
std::unique_ptr<Reader> with_gpu(std::unique_ptr<Reader> rails, const ReaderOptions& options,
                                 const Board& board) {
  if (board.gpu_load_from != GpuLoadFrom::kNvml) return rails;
  return std::make_unique<GpuReader>(std::move(rails), options.nvml, options.period_ns);
}

}  // namespace

Result<std::unique_ptr<Reader>> open_reader(const ReaderOptions& options, const Board& board) {
  std::string kind = options.kind;
  if (kind == "auto") {
    const SysfsInventory found = discover_sysfs(options.root);
    if (!found.channels.empty()) {
      kind = "sysfs";
    } else if (in_path(options.program)) {
      kind = "tegrastats";
    } else {
      std::string why = "no power sensor in sysfs and no " + options.program;
      for (const std::string& note : found.notes) why += "; " + note;
      return std::unique_ptr<Reader>(std::make_unique<NoReader>(why));
    }
  }
  if (kind == "sysfs") {
    return with_gpu(std::make_unique<SysfsReader>(options.root, board, options.period_ns), options,
                    board);
  }
  if (kind == "tegrastats") {
    return with_gpu(TegrastatsReader::child(options.program, board, options.period_ns), options,
                    board);
  }
  if (kind == "modelled") {
    return std::unique_ptr<Reader>(std::make_unique<ModelledReader>(board, options.period_ns));
  }
  if (kind == "none") {
    return std::unique_ptr<Reader>(std::make_unique<NoReader>("switched off"));
  }
  if (kind == "recorded") {
    auto reader = RecordedReader::open(options.file, board, options.period_ns, options.speed);
    LAIRD_TRY(reader);
    return std::unique_ptr<Reader>(std::move(*reader));
  }
  return fail(Code::kInvalid, "no reader is called '" + kind.substr(0, 40) +
                                  "'; use auto, sysfs, tegrastats, recorded, modelled or none");
}

}  // namespace laird::power
