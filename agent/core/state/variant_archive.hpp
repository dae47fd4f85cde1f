#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "base/archive.hpp"

namespace laird::core {

// A variant as its index and its alternative; an index beyond the last fails the read. The order
// of alternatives is part of the journal format: append, never insert.
template <class... Ts>
void archive_variant(Archive& ar, std::variant<Ts...>& v) {
  std::uint8_t index = static_cast<std::uint8_t>(v.index());
  ar(index);
  if (ar.failed()) return;
  if (ar.reading() && index != v.index()) {
    std::uint8_t at = 0;
    const bool found = ((at++ == index ? (v.template emplace<Ts>(), true) : false) || ...);
    if (!found) {
      ar.fail();
      return;
    }
  }
  std::visit([&ar](auto& body) { body.archive(ar); }, v);
}

}  // namespace laird::core
