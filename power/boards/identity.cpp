#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "config/schema.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::power {
namespace {

constexpr std::size_t kSmallFileMax = 64 * 1024;

std::string small_file(const std::string& path) {
  Result<std::string> text = config::read_file(path, kSmallFileMax);
  return text ? std::move(*text) : std::string();
}

std::string until_control(std::string text) {
  const auto end = std::find_if(text.begin(), text.end(),
                                [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  text.erase(end, text.end());
  return text;
}

std::vector<std::string> split_at_nul(const std::string& text) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while (at < text.size() && out.size() < 64) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string digits_and_dots(const std::string& text, std::size_t at) {
  std::string out;
  while (at < text.size() && out.size() < 16 &&
         ((text[at] >= '0' && text[at] <= '9') || text[at] == '.')) {
    out += text[at++];
  }
  return out;
}

// "# R36 (release), REVISION: 4.7, ..." gives R36.4.7.
std::string l4t_from_release(const std::string& text) {
  const std::size_t major = text.find("# R");
  const std::size_t revision = text.find("REVISION: ");
  if (major == std::string::npos || revision == std::string::npos) return {};
  const std::string high = digits_and_dots(text, major + 3);
  const std::string low = digits_and_dots(text, revision + 10);
  return high.empty() || low.empty() ? std::string() : "R" + high + "." + low;
}

// The installed version of nvidia-l4t-core: "Version: 36.4.7-2025..." gives R36.4.7.
std::string l4t_from_dpkg(const std::string& root) {
  const Result<std::string> status = config::read_file(root + "/var/lib/dpkg/status", 64 << 20);
  if (!status) return {};
  const std::size_t package = status->find("Package: nvidia-l4t-core\n");
  if (package == std::string::npos) return {};
  const std::size_t end = std::min(status->find("\n\n", package), status->size());
  const std::size_t version = status->find("\nVersion: ", package);
  if (version == std::string::npos || version > end) return {};
  const std::string number = digits_and_dots(*status, version + 10);
  return number.empty() ? std::string() : "R" + number;
}

std::string value_of(const std::string& text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return {};
  const std::size_t start = text.find_first_not_of(" \t", at + key.size());
  return start == std::string::npos ? std::string() : until_control(text.substr(start));
}

int count_cores(const std::string& root) {
  std::error_code error;
  int cores = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(root + "/sys/devices/system/cpu", error)) {
    const std::string name = entry.path().filename().string();
    const bool is_core =
        name.size() > 3 && name.starts_with("cpu") &&
        std::all_of(name.begin() + 3, name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_core) ++cores;
  }
  return cores;
}

}  // namespace

MachineIdentity read_identity(const std::string& root) {
  MachineIdentity out;
  out.compatible = split_at_nul(small_file(root + "/proc/device-tree/compatible"));
  if (out.compatible.empty()) {
    out.compatible = split_at_nul(small_file(root + "/sys/firmware/devicetree/base/compatible"));
  }
  out.model = until_control(small_file(root + "/sys/firmware/devicetree/base/model"));
  out.serial = until_control(small_file(root + "/sys/firmware/devicetree/base/serial-number"));
  out.l4t = l4t_from_release(small_file(root + "/etc/nv_tegra_release"));
  if (!out.l4t.empty()) out.l4t_from = "/etc/nv_tegra_release";
  if (out.l4t.empty()) {
    out.l4t = l4t_from_dpkg(root);
    if (!out.l4t.empty()) out.l4t_from = "the installed nvidia-l4t-core";
  }
  const std::string boot = small_file(root + "/etc/nv_boot_control.conf");
  out.boot_spec = value_of(boot, "COMPATIBLE_SPEC");
  if (out.boot_spec.empty()) out.boot_spec = value_of(boot, "TNSPEC");
  std::error_code error;
  const auto target = std::filesystem::read_symlink(root + "/etc/nvpmodel.conf", error);
  if (!error) out.nvpmodel_file = target.string();
  const std::string total = value_of(small_file(root + "/proc/meminfo"), "MemTotal:");
  out.memory_bytes = std::strtoll(total.c_str(), nullptr, 10) * 1024;
  out.cpu_cores = count_cores(root);
  return out;
}

}  // namespace laird::power
