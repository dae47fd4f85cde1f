// What waits to be written to one browser, in bounded memory. Pure.
//
// A browser that reads too slowly does not get every change: what waits is dropped, but for the
// piece that is half written, and it gets the whole picture once there is room.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace laird::control::serve {

inline constexpr std::size_t kQueueBytesMax = 2 << 20;

class BrowserQueue {
 public:
  using Text = std::shared_ptr<const std::string>;  // the same for all browsers

  // An answer, or the whole picture: kept whatever its size is.
  void put(Text text);
  // A change. False: there was no room, and the browser is behind.
  bool offer(Text change);
  // It is behind, and everything that was left has been written: it needs the whole picture.
  [[nodiscard]] bool needs_whole() const { return behind_ && waiting_.empty(); }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  // What to write next, and how much of it was written.
  [[nodiscard]] std::string_view next() const;
  void written(std::size_t bytes);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::deque<Text> waiting_;
  std::size_t sent_ = 0;  // of the first
  std::size_t bytes_ = 0;
  bool behind_ = false;
};

}  // namespace laird::control::serve
