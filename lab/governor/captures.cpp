#include "lab/governor/captures.hpp"

#include <algorithm>
#include <filesystem>

#include "power/readers/recording.hpp"

namespace laird::lab {

Result<std::vector<RecordedTrace>> load_captures(const std::string& folder,
                                                 const power::Board& rules) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".log") files.push_back(entry.path());
  }
  if (error) {
    return fail(Code::kNotFound, "cannot list " + folder + ": " + error.message());
  }
  std::sort(files.begin(), files.end());
  std::vector<RecordedTrace> out;
  for (const auto& file : files) {
    RecordedTrace trace;
    trace.name = file.stem().string();
    const auto counts = power::read_recording(
        file.string(), rules, kSecond, [&](const power::PowerReading& reading) {
          if (!reading.total_mw) return;
          const double at = static_cast<double>(reading.at) * 1e-9;
          // A capture may be several, glued together: only what moves forward is one trace.
          if (!trace.at_s.empty() && at <= trace.at_s.back()) return;
          trace.at_s.push_back(at);
          trace.power_mw.push_back(static_cast<double>(*reading.total_mw));
          if (reading.gpu_load_permille)
            trace.gpu_load.push_back(*reading.gpu_load_permille * 1e-3);
          if (reading.cpu_load_permille)
            trace.cpu_load.push_back(*reading.cpu_load_permille * 1e-3);
        });
    LAIRD_TRY(counts);
    if (trace.gpu_load.size() != trace.at_s.size()) trace.gpu_load.clear();
    if (trace.cpu_load.size() != trace.at_s.size()) trace.cpu_load.clear();
    if (!trace.at_s.empty()) out.push_back(std::move(trace));
  }
  return out;
}

}  // namespace laird::lab
