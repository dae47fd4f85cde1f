// The models that stand ready on this board, in <state_dir>/models: taken from the folders of the
// tasks that promoted them, told, rolled back, and handed out in pieces.
//
// A task's folder belongs to its trainer; what is here is the agent's, and a copy. Copies are made
// by a process of its own (`laird-promote take`), one at a time, so that no size of a model keeps
// the agent from its work. Handing out is bounded in bytes a second, for the same reason.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>

#include "agent/core/state/state.hpp"
#include "agent/models/allowance.hpp"
#include "agent/os/log.hpp"
#include "agent/os/loop.hpp"
#include "base/error.hpp"
#include "json/value.hpp"
#include "os/fd.hpp"

namespace laird::agent {

// A piece and its Base64 fit one message, with room for what is around it.
inline constexpr std::int64_t kPieceBytesMax = 24 * 1024;

class ModelStore {
 public:
  // `promoter`: the program laird-promote; empty on a board that has none.
  ModelStore(Loop& loop, std::string state_dir, std::string promoter, Log log);
  ~ModelStore();
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;

  // The model of a promotion that succeeded; nothing of any other task. One that is here already is
  // not taken again, so what an earlier life of the agent left undone is done by naming all anew.
  void take(const core::Task& task);
  void take_all(const core::State& state);

  [[nodiscard]] json::Value list() const;
  // The number of the version that is current now.
  [[nodiscard]] Result<std::string> roll_back(const std::string& model, const std::string& from);
  // Of a model, else of the folder of a task.
  [[nodiscard]] Result<json::Value> files(const std::string& name) const;
  [[nodiscard]] Result<json::Value> piece(const std::string& name, const std::string& file,
                                          const std::string& version, std::int64_t from);

 private:
  struct Job {
    std::string model;
    std::string id;
  };

  void start_next();
  void end_job();
  [[nodiscard]] std::string shelf_of(const std::string& model) const;
  [[nodiscard]] std::string task_folder(const std::string& task) const;

  Loop& loop_;
  const std::string state_dir_;
  const std::string promoter_;
  Log log_;
  std::deque<Job> jobs_;  // the first is being done while `child_` is above 0
  pid_t child_ = 0;
  Fd child_end_;             // hangs up when the process is gone
  ByteAllowance allowance_;  // of what goes out
};

}  // namespace laird::agent
