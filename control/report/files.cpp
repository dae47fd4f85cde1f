#include "control/report/files.hpp"

#include <algorithm>
#include <filesystem>

#include "agent/journal/file_names.hpp"
#include "base/natural_order.hpp"

namespace laird::control {
namespace {

constexpr int kDepthMax = 4;
constexpr std::size_t kHeldMax = 1 << 16;

void collect(const std::filesystem::path& folder, int depth, std::vector<std::string>& out) {
  namespace fs = std::filesystem;
  if (!journal::files_in(folder.string()).empty()) {
    out.push_back(folder.string());
    return;
  }
  if (depth == kDepthMax) return;
  std::vector<fs::path> below;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) below.push_back(entry.path());
  }
  std::sort(below.begin(), below.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.string(), b.string());
  });
  for (const fs::path& path : below) collect(path, depth + 1, out);
}

}  // namespace

Result<std::vector<std::string>> journals_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    if (!std::filesystem::exists(path, error)) return fail(Code::kNotFound, path + " is not there");
    return std::vector<std::string>{path};
  }
  std::vector<std::string> out;
  collect(path, 0, out);
  if (out.empty()) {
    return fail(Code::kNotFound, "no journal files in " + path + " or the folders below it");
  }
  return out;
}

Result<std::unique_ptr<PieceFile>> PieceFile::open(const std::string& path) {
  Result<StagedFile> file = StagedFile::open(path, 0644);
  LAIRD_TRY(file);
  return std::unique_ptr<PieceFile>(new PieceFile(std::move(*file)));
}

void PieceFile::add(std::string_view piece) {
  held_ += piece;
  if (held_.size() < kHeldMax) return;
  if (written_) written_ = file_.write(held_);
  held_.clear();
}

Status PieceFile::finish() {
  if (written_) written_ = file_.write(held_);
  held_.clear();
  return written_ ? file_.finish() : written_;
}

}  // namespace laird::control
