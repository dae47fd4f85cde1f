// Small things policies share: numbers in explanations, and lists they look tasks up in.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace laird::policies {

// Three significant digits: "0.123", "1.2e+05".
[[nodiscard]] inline std::string shortened(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 3);
  return std::string(text, end.ptr);
}

// Whether a list read from an archive is what lookups take it for: each key once, ascending.
template <class Entry>
[[nodiscard]] bool ascends_by_key(const std::vector<Entry>& entries) {
  return std::adjacent_find(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
           return a.key >= b.key;
         }) == entries.end();
}

// The entry of a key in such a list; put in fresh where there is none.
template <class Entry, class Key>
[[nodiscard]] Entry& entry_of(std::vector<Entry>& entries, Key key) {
  const auto at = std::lower_bound(entries.begin(), entries.end(), key,
                                   [](const Entry& e, Key k) { return e.key < k; });
  if (at != entries.end() && at->key == key) return *at;
  Entry fresh;
  fresh.key = key;
  return *entries.insert(at, std::move(fresh));
}

}  // namespace laird::policies
