// Base64 of RFC 4648 section 4, padded; one text for each value and no other is accepted.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace laird::mqtt {

[[nodiscard]] std::string to_base64(std::string_view bytes);
[[nodiscard]] Result<std::string> from_base64(std::string_view text);

}  // namespace laird::mqtt
