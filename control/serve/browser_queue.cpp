#include "control/serve/browser_queue.hpp"

#include "base/require.hpp"

namespace laird::control::serve {

void BrowserQueue::put(Text text) {
  behind_ = false;
  bytes_ += text->size();
  waiting_.push_back(std::move(text));
}

bool BrowserQueue::offer(Text change) {
  if (behind_) return false;
  if (bytes_ + change->size() <= kQueueBytesMax) {
    bytes_ += change->size();
    waiting_.push_back(std::move(change));
    return true;
  }
  behind_ = true;
  while (waiting_.size() > (sent_ > 0 ? 1U : 0U)) {
    bytes_ -= waiting_.back()->size();
    waiting_.pop_back();
  }
  return false;
}

std::string_view BrowserQueue::next() const {
  if (waiting_.empty()) return {};
  return std::string_view(*waiting_.front()).substr(sent_);
}

void BrowserQueue::written(std::size_t bytes) {
  LAIRD_REQUIRE(bytes <= next().size(), "no more is written than there was");
  sent_ += bytes;
  if (waiting_.empty() || sent_ < waiting_.front()->size()) return;
  bytes_ -= waiting_.front()->size();
  waiting_.pop_front();
  sent_ = 0;
}

}  // namespace laird::control::serve
