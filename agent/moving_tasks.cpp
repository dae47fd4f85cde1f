#include "agent/moving_tasks.hpp"

#include <utility>

#include "agent/core/step/titles/title_body.hpp"
#include "agent/journal/reader.hpp"
#include "agent/trainer_host/checkpoint_files.hpp"

namespace laird::agent {

// What travels with a title is written in the journal's format.
static_assert(core::kTitleBodyFormat == journal::kFormat);

core::CheckpointRead read_to_travel(const core::CopyCheckpoint& asked, const core::Task& task,
                                    const std::string& tasks_folder) {
  CheckpointFiles found = read_checkpoint_files(tasks_folder + "/" + task.spec.folder());
  return {asked, std::move(found.files), found.too_large};
}

bool place_what_came(const core::State& state, const core::Task& task,
                     const std::string& tasks_folder, const Log& log) {
  // It has been ready here before: what it did here is newer.
  if (!task.moving.came || task.restore_ns != 0) return false;
  const auto& titles = std::as_const(state.fleet.titles);
  const consensus::HeldTitle* title = titles ? titles->titles().holds(task.moving.title) : nullptr;
  if (title == nullptr) return false;
  const Result<core::TitleBody> body = core::decode_title_body(title->body);
  if (!body || body->files.empty()) return false;
  const Status ok = place_checkpoint_files(tasks_folder + "/" + task.spec.folder(), body->files);
  if (ok) return true;
  log(LogLevel::kWarning,
      "task " + task.spec.name + ": the copied checkpoint is not used: " + ok.error().context);
  return false;
}

}  // namespace laird::agent
