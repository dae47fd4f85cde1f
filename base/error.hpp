// Operating errors travel as values: a code to act on and a context to read.
//
// Bugs assert (base/require.hpp); whatever comes from outside (a file, a message, a process, the
// operating system) is an Error. A context names the place and, where there is one, the remedy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace laird {

enum class Code : std::uint8_t {
  kInvalid,      // the input is malformed or out of range
  kNotFound,     // a file, task, trainer or device is not there
  kRefused,      // understood, and declined: admission, authorisation, state
  kExists,       // it is there already
  kFull,         // a disk, queue or limit is exhausted
  kUnavailable,  // not now: a peer, sensor or device does not answer
  kCorrupt,      // stored data is damaged
  kPermission,   // the operating system says no
  kIo,           // the operating system failed otherwise
};

[[nodiscard]] std::string_view name(Code code);

struct Error {
  Code code = Code::kInvalid;
  std::string context;
  // The line of the text that was read, counted from 1, where the problem is one of a text's; else
  // 0. The context names it too: this is for programs.
  int line = 0;

  // "refused: task 'a' needs 900 MB, the board has 512 MB for tasks"
  [[nodiscard]] std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Code code, std::string context) {
  return tl::make_unexpected(Error{code, std::move(context)});
}

// For a failed system call: appends the text of `errno_value` and picks the code that fits it.
[[nodiscard]] tl::unexpected<Error> fail_errno(int errno_value, std::string context);

}  // namespace laird

// Leaves the function with the error of a Status or Result that has failed; goes on otherwise. In a
// function that returns either.
#define LAIRD_TRY(outcome)                                                        \
  do {                                                                            \
    auto&& laird_tried = (outcome);                                               \
    if (!laird_tried) return tl::make_unexpected(std::move(laird_tried.error())); \
  } while (false)
