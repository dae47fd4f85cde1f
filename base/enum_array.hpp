// An array with a place for each member of an enumeration: `floor[Resource::kPower]`, with no cast.
// Loops over all the places may still count them.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

namespace laird {

template <class E, class T, std::size_t N>
requires std::is_enum_v<E>
struct EnumArray : std::array<T, N> {
  using std::array<T, N>::operator[];
  [[nodiscard]] constexpr T& operator[](E place) {
    return (*this)[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] constexpr const T& operator[](E place) const {
    return (*this)[static_cast<std::size_t>(place)];
  }
  bool operator==(const EnumArray&) const = default;
};

}  // namespace laird
