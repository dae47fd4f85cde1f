// What one board held of its fleet's power at every instant, followed through its journal.
#pragma once

#include <vector>

#include "agent/core/state/event.hpp"
#include "agent/core/state/state.hpp"
#include "report/story/story.hpp"

namespace laird::story {

class ShareWatch {
 public:
  void see(const core::Event& event, const core::State& state);
  [[nodiscard]] std::vector<SharePoint>& points() { return points_; }

 private:
  void add(TimeNs at, std::int64_t parts, std::int64_t enforced_mw);

  std::vector<SharePoint> points_;
  TimeNs fence_at_ = core::kTimeMax;
  TimeNs seen_at_ = 0;
  bool known_ = false;
};

}  // namespace laird::story
