// One session of the privileged helper: requests in, answers out, everything undone at the end.
//
//   get KEY          ok VALUE [LOW HIGH]
//   list KEY         ok VALUE VALUE ...       the clocks there are; the power modes that are live
//   set KEY VALUE    ok VALUE-READ-BACK       "set nvpmodel 2", "set cpu-max-freq 0 729600"
//   restore          ok COUNT
//   anything else    error CODE: TEXT
//
// Before a value is first changed its original goes into the journal and is synced to the medium;
// it is written back when the caller asks, hangs up or is killed, and by the next session when this
// one is killed itself. The journal lives in /run: a reboot resets sysfs and it together.
#pragma once

#include <string>
#include <vector>

#include "power/helper/controls.hpp"

namespace laird::power::priv {

class Session {
 public:
  // Takes the journal for itself and restores what an earlier session left changed. Refuses when
  // another session runs.
  [[nodiscard]] static Result<Session> open(const Place& place, const std::string& journal);
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  ~Session();

  // One request without its newline; one answer without its.
  [[nodiscard]] std::string answer(const std::string& request, std::int64_t now_ns);
  // Writes every original back; how many were changed.
  std::size_t restore();

 private:
  struct Original {
    std::string key;
    std::int64_t value = 0;
  };

  Session(const Place& place, int journal_fd) : place_(place), journal_fd_(journal_fd) {}
  void load_journal();
  Status remember(const std::string& key, std::int64_t value);
  Result<std::int64_t> set(const std::string& key, std::int64_t value);
  [[nodiscard]] std::string list(const std::string& key) const;
  bool too_often(std::int64_t now_ns);

  static constexpr int kSetsPerSecondMax = 20;
  static constexpr std::size_t kOriginalsMax = 300;

  Place place_;
  int journal_fd_ = -1;
  std::vector<Original> originals_;
  std::int64_t second_ = 0;
  int sets_in_second_ = 0;
};

// Reads requests from `in` and writes answers to `out` until the end of input, a signal (through
// `stop`, readable when it is time) or a failed write. Then restores.
int serve(Session& session, int in, int out, int stop);

}  // namespace laird::power::priv
