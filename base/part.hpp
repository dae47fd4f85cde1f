// Parts of a state that are hashed by themselves and seldom change (Archive::part).
//
// A state is hashed after every event, and most of it is as it was. These two keep the digest of
// what they hold and forget it whenever somebody asks for a way to change the part, so a digest
// that is kept is right. Reading through a const part keeps the digest.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/archive.hpp"

namespace laird {

// A part held by value. It reads like a const T.
template <class T>
class Part {
 public:
  Part() = default;
  Part(T value) : value_(std::move(value)) {}

  operator const T&() const { return value_; }
  [[nodiscard]] const T& operator*() const { return value_; }
  [[nodiscard]] const T* operator->() const { return &value_; }
  [[nodiscard]] T& change() {
    known_.forget();
    return value_;
  }
  void archive(Archive& ar) {
    ar.part(known_, [this](Archive& to) { to(value_); });
  }

 private:
  T value_{};
  KnownDigest known_;
};

// A part that may be absent, used like a std::unique_ptr. To look at it without losing its digest,
// go through a const one (std::as_const).
template <class T>
class PartPtr {
 public:
  PartPtr& operator=(std::unique_ptr<T> part) {
    part_ = std::move(part);
    known_.forget();
    return *this;
  }
  void reset() { *this = std::unique_ptr<T>(); }

  [[nodiscard]] explicit operator bool() const { return part_ != nullptr; }
  [[nodiscard]] bool operator==(std::nullptr_t) const { return part_ == nullptr; }
  [[nodiscard]] const T& operator*() const { return *part_; }
  [[nodiscard]] const T* operator->() const { return part_.get(); }
  [[nodiscard]] T& operator*() {
    known_.forget();
    return *part_;
  }
  [[nodiscard]] T* operator->() { return &**this; }

  // What it holds, which must be there.
  void archive(Archive& ar) {
    ar.part(known_, [this](Archive& to) { to(*part_); });
  }

 private:
  std::unique_ptr<T> part_;
  KnownDigest known_;
};

}  // namespace laird
