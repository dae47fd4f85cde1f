// Where promoted models stand: a folder per version, and `current`, a link to one of them that is
// replaced in one rename. Killed or cut off at any moment, `current` is the old one or the new one.
//
//   DIR/current -> versions/000003     DIR/versions/000003/model.onnx, engine, promoted.json
//   DIR/cache/                         engines and timing caches (engine_cache.hpp)
//   DIR/work/                          for what is being made; emptied at each start
//   DIR/lock                           held by the one that changes something
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "json/value.hpp"
#include "os/fd.hpp"

namespace laird::promote {

inline constexpr std::string_view kPromotedJson = "promoted.json";

// A version that is being put together; not there for others until it is committed.
struct Draft {
  std::string number;
  std::string folder;
};

class Shelf {
 public:
  // Makes the folders, and waits for nobody: kRefused if another one changes this shelf now.
  [[nodiscard]] static Result<Shelf> open(const std::string& folder);

  [[nodiscard]] std::string cache_folder() const { return folder_ + "/cache"; }
  [[nodiscard]] std::string work_folder() const { return folder_ + "/work"; }

  // The numbers of those that are kept.
  [[nodiscard]] std::vector<std::string> versions() const;
  [[nodiscard]] Result<Draft> begin();
  // A copy of the file at `from`, on the disk when this returns; kCorrupt if its hash is not
  // `sha256`.
  [[nodiscard]] Status put(const Draft& draft, const std::string& from, const std::string& name,
                           const std::string& sha256);
  // `about` becomes promoted.json, with the files and the version before in it; then the version is
  // current.
  [[nodiscard]] Status commit(const Draft& draft, json::Value about);
  // Makes the version before current again; gives its number.
  [[nodiscard]] Result<std::string> rollback();

 private:
  Shelf(std::string folder, Fd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  [[nodiscard]] Status point_at(const std::string& number);
  void prune(const std::string& keep, const std::string& and_keep);

  std::string folder_;
  Fd lock_;
  json::Value files_ = json::Value::array();  // of the draft: name, hash and size of each
};

// Makes what is current in the folder `from` current on the shelf, each file checked against the
// hash that promoted.json there has for it. `id` names the promotion: if a version that bears it is
// kept already, nothing is done. Gives the number of the current version.
[[nodiscard]] Result<std::string> take_over(Shelf& shelf, const std::string& folder,
                                            const std::string& from, const std::string& id);

// The number of the current version; nothing if there is none.
[[nodiscard]] std::optional<std::string> current_of(const std::string& folder);
// promoted.json of a version.
[[nodiscard]] Result<json::Value> promoted_of(const std::string& folder, const std::string& number);

}  // namespace laird::promote
