// The files of the page, compiled in from assets/ and plot/assets/.
#pragma once

#include <string>
#include <string_view>

namespace laird::control::serve {

[[nodiscard]] std::string_view page_html();
[[nodiscard]] std::string page_script();
[[nodiscard]] std::string page_style();

}  // namespace laird::control::serve
