#include "promote/shelf/shelf.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/sha256.hpp"
#include "config/schema.hpp"
#include "os/whole_file.hpp"

namespace laird::promote {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersions = "versions";
constexpr std::string_view kUnfinished = ".new";
constexpr std::size_t kDigits = 6;
constexpr std::size_t kAboutMax = 1 << 20;
constexpr mode_t kMode = 0644;
constexpr std::size_t kFilesMax = 16;

bool is_number(std::string_view name) {
  return name.size() >= kDigits && name.size() <= 9 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string version_path(const std::string& folder, const std::string& number) {
  return folder + "/" + std::string(kVersions) + "/" + number;
}

std::string before_of(const std::string& folder, const std::string& number) {
  const Result<json::Value> about = promoted_of(folder, number);
  if (!about) return {};
  const json::Value* before = about->find("before", json::Kind::kString);
  return before != nullptr && is_number(before->as_string()) ? before->as_string() : "";
}

}  // namespace

std::optional<std::string> current_of(const std::string& folder) {
  std::error_code none;
  const fs::path target = fs::read_symlink(folder + "/current", none);
  const std::string number = target.filename().string();
  if (none || !is_number(number)) return std::nullopt;
  return number;
}

Result<json::Value> promoted_of(const std::string& folder, const std::string& number) {
  const std::string path = version_path(folder, number) + "/" + std::string(kPromotedJson);
  const Result<std::string> text = config::read_file(path, kAboutMax);
  LAIRD_TRY(text);
  return json::parse(*text, path);
}

Result<Shelf> Shelf::open(const std::string& folder) {
  std::error_code failed;
  for (const std::string& sub : {std::string(kVersions), std::string("cache")}) {
    fs::create_directories(folder + "/" + sub, failed);
    if (failed) return fail_errno(failed.value(), "make " + folder + "/" + sub);
  }
  Fd lock(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return fail_errno(errno, "write " + folder + "/lock");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Code::kRefused,
                "another laird-promote is at work in " + folder + "; wait until it has ended");
  }
  Shelf out(folder, std::move(lock));
  fs::remove_all(out.work_folder(), failed);
  fs::create_directories(out.work_folder(), failed);
  if (failed) return fail_errno(failed.value(), "make " + out.work_folder());
  return out;
}

std::vector<std::string> Shelf::versions() const {
  std::vector<std::string> out;
  std::error_code failed;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder_ + "/" + std::string(kVersions), failed)) {
    const std::string name = entry.path().filename().string();
    if (is_number(name)) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<Draft> Shelf::begin() {
  long highest = 0;
  std::error_code failed;
  const std::string versions = folder_ + "/" + std::string(kVersions);
  std::vector<fs::path> unfinished;
  for (const fs::directory_entry& entry : fs::directory_iterator(versions, failed)) {
    const std::string name = entry.path().filename().string();
    if (is_number(name)) highest = std::max(highest, std::strtol(name.c_str(), nullptr, 10));
    if (name.ends_with(kUnfinished)) unfinished.push_back(entry.path());
  }
  for (const fs::path& path : unfinished) fs::remove_all(path, failed);
  char number[32];
  std::snprintf(number, sizeof number, "%06ld", highest + 1);
  files_ = json::Value::array();
  Draft draft{number, versions + "/" + number + std::string(kUnfinished)};
  if (!fs::create_directory(draft.folder, failed)) {
    return fail_errno(failed.value(), "make " + draft.folder);
  }
  return draft;
}

Status Shelf::put(const Draft& draft, const std::string& from, const std::string& name,
                  const std::string& sha256) {
  std::ifstream in(from, std::ios::binary);
  if (!in) return fail(Code::kNotFound, "cannot open " + from);
  Result<StagedFile> out = StagedFile::open(draft.folder + "/" + name, kMode);
  LAIRD_TRY(out);
  Sha256 hash;
  std::uint64_t bytes = 0;
  std::vector<char> block(1 << 16);
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    const std::string_view got(block.data(), static_cast<std::size_t>(in.gcount()));
    hash.add(got);
    bytes += got.size();
    LAIRD_TRY(out->write(got));
  }
  if (in.bad()) return fail(Code::kIo, "cannot read " + from);
  if (hash.hex() != sha256) {
    return fail(Code::kCorrupt, from + " is not the file that model.json tells of; export anew");
  }
  files_.add(json::Value::object().set("file", name).set("sha256", sha256).set("bytes", bytes));
  return out->finish();
}

Status Shelf::point_at(const std::string& number) {
  const std::string staged = folder_ + "/current.new";
  const std::string target = std::string(kVersions) + "/" + number;
  if (::unlink(staged.c_str()) != 0 && errno != ENOENT) {
    return fail_errno(errno, "remove " + staged);
  }
  if (::symlink(target.c_str(), staged.c_str()) != 0) return fail_errno(errno, "link " + staged);
  if (::rename(staged.c_str(), (folder_ + "/current").c_str()) != 0) {
    return fail_errno(errno, "replace " + folder_ + "/current");
  }
  return sync_folder(folder_);
}

Status Shelf::commit(const Draft& draft, json::Value about) {
  const std::optional<std::string> before = current_of(folder_);
  about.set("version", draft.number);
  about.set("files", files_);
  about.set("before", before ? json::Value(*before) : json::Value());
  LAIRD_TRY(write_whole_file(draft.folder + "/" + std::string(kPromotedJson),
                             json::to_pretty_text(about) + "\n", {.mode = kMode}));
  const std::string place = version_path(folder_, draft.number);
  if (::rename(draft.folder.c_str(), place.c_str()) != 0) return fail_errno(errno, "make " + place);
  LAIRD_TRY(sync_folder(folder_ + "/" + std::string(kVersions)));
  LAIRD_TRY(point_at(draft.number));
  prune(draft.number, before.value_or(""));
  return {};
}

Result<std::string> Shelf::rollback() {
  const std::optional<std::string> current = current_of(folder_);
  if (!current) return fail(Code::kNotFound, "no model was promoted in " + folder_);
  const std::string before = before_of(folder_, *current);
  if (before.empty() || !promoted_of(folder_, before)) {
    return fail(Code::kNotFound, "no version before " + *current + " is kept in " + folder_);
  }
  LAIRD_TRY(point_at(before));
  return before;
}

namespace {

std::string text_in(const json::Value& object, std::string_view key) {
  const json::Value* found = object.find(key, json::Kind::kString);
  return found == nullptr ? "" : found->as_string();
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == name.npos;
}

}  // namespace

Result<std::string> take_over(Shelf& shelf, const std::string& folder, const std::string& from,
                              const std::string& id) {
  // Also one that was rolled back: it is not brought back behind its operator's back.
  if (const std::optional<std::string> current = current_of(folder)) {
    for (const std::string& version : shelf.versions()) {
      const Result<json::Value> about = promoted_of(folder, version);
      if (about && text_in(*about, "id") == id) return *current;
    }
  }
  const std::optional<std::string> theirs = current_of(from);
  if (!theirs) return fail(Code::kNotFound, "no model was promoted in " + from);
  Result<json::Value> about = promoted_of(from, *theirs);
  LAIRD_TRY(about);
  const json::Value* files = about->find("files", json::Kind::kArray);
  if (files == nullptr || files->items().empty() || files->items().size() > kFilesMax) {
    return fail(Code::kCorrupt, "promoted.json in " + from + " tells of no files, or too many");
  }
  const Result<Draft> draft = shelf.begin();
  LAIRD_TRY(draft);
  for (const json::Value& file : files->items()) {
    const std::string name = text_in(file, "file");
    if (!is_plain_name(name)) return fail(Code::kCorrupt, "a file's name in " + from + " is none");
    LAIRD_TRY(
        shelf.put(*draft, version_path(from, *theirs) + "/" + name, name, text_in(file, "sha256")));
  }
  LAIRD_TRY(shelf.commit(*draft, about->set("id", id)));
  return draft->number;
}

void Shelf::prune(const std::string& keep, const std::string& and_keep) {
  std::error_code failed;
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder_ + "/" + std::string(kVersions), failed)) {
    const std::string name = entry.path().filename().string();
    if (is_number(name) && name != keep && name != and_keep) old.push_back(entry.path());
  }
  // What cannot be removed now is tried again the next time.
  for (const fs::path& path : old) fs::remove_all(path, failed);
}

}  // namespace laird::promote
