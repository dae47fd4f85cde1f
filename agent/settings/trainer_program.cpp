#include "agent/settings/trainer_program.hpp"

#include <algorithm>
#include <string_view>

namespace laird::agent {
namespace {

bool is_image_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-/:@").find(c) != std::string_view::npos;
}

}  // namespace

std::string image_problem(const std::string& image) {
  // One that begins with a dash would be an option of whatever runs it.
  if (image.empty() || !std::all_of(image.begin(), image.end(), is_image_letter) ||
      image.front() == '-') {
    return "'" + image + "' is no name of an image, such as localhost/mine:1";
  }
  return "";
}

}  // namespace laird::agent
