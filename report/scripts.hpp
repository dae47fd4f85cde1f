// Private to the room: the page's script and style, compiled in from assets/ and plot/assets/.
#pragma once

#include <string>
#include <string_view>

namespace laird::report {

[[nodiscard]] std::string page_script();
[[nodiscard]] std::string_view page_style();

}  // namespace laird::report
