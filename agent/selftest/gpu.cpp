// The GPU as a program of this user meets it: its device nodes and the driver's library, asked in a
// process of its own, as a driver in trouble may hang or crash whoever asks.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "agent/selftest/own_process.hpp"
#include "agent/selftest/selftest.hpp"
#include "os/fd.hpp"

namespace laird::agent::selftest {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr DurationNs kPatience = 30 * kSecond;
// Of JetPack 4 to 6, of Thor and of cards.
constexpr std::array<const char*, 5> kNodes = {"/dev/nvmap", "/dev/nvhost-gpu",
                                               "/dev/nvhost-ctrl-gpu", "/dev/nvgpu/igpu0/ctrl",
                                               "/dev/nvidiactl"};

// In the child: "NAME, driver N, compute A.B, M MB" or "! WHY".
std::string ask_driver() {
  void* library = ::dlopen(kDriver, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return "! " + std::string(why == nullptr ? "cannot be loaded" : why);
  }
  const auto find = [&](const char* name) { return ::dlsym(library, name); };
  const auto init = reinterpret_cast<int (*)(unsigned)>(find("cuInit"));
  const auto version = reinterpret_cast<int (*)(int*)>(find("cuDriverGetVersion"));
  const auto count = reinterpret_cast<int (*)(int*)>(find("cuDeviceGetCount"));
  const auto name = reinterpret_cast<int (*)(char*, int, int)>(find("cuDeviceGetName"));
  const auto attribute = reinterpret_cast<int (*)(int*, int, int)>(find("cuDeviceGetAttribute"));
  if (init == nullptr || version == nullptr || count == nullptr || name == nullptr ||
      attribute == nullptr) {
    return "! " + std::string(kDriver) + " is no driver of CUDA's";
  }
  if (const int code = init(0); code != 0) return "! cuInit gave error " + std::to_string(code);
  int driver = 0;
  int devices = 0;
  if (version(&driver) != 0 || count(&devices) != 0 || devices == 0) return "! no device";
  char title[128] = "";
  int major = 0;
  int minor = 0;
  static constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
  static constexpr int kMinor = 76;
  if (name(title, sizeof title, 0) != 0 || attribute(&major, kMajor, 0) != 0 ||
      attribute(&minor, kMinor, 0) != 0) {
    return "! the device does not answer";
  }
  return std::string(title) + ", driver " + std::to_string(driver / 1000) + "." +
         std::to_string(driver % 1000 / 10) + ", compute " + std::to_string(major) + "." +
         std::to_string(minor);
}

}  // namespace

Finding check_gpu(const Board& board) {
  json::Value nodes = json::Value::object();
  int there = 0;
  std::string closed;
  for (const char* node : kNodes) {
    if (::access(node, F_OK) != 0) continue;
    ++there;
    const Fd opened(::open(node, O_RDWR | O_CLOEXEC | O_NONBLOCK));
    nodes.set(node, opened ? "opens" : std::strerror(errno));
    if (!opened) closed += (closed.empty() ? "" : ", ") + std::string(node);
  }
  Finding out;
  if (board.found.board.gpu_sm == 0 && there == 0) {
    out = skipped("gpu", "this board's file knows of no GPU, and there is no device of one");
  } else if (!closed.empty()) {
    out = failed("gpu", "this user cannot open " + closed, "add it to the group 'video'");
  } else {
    const Result<std::string> words = ask_in_own_process(ask_driver, kPatience);
    if (words) {
      out = passed("gpu", *words);
    } else if (there == 0) {
      out = skipped("gpu", "no device of a GPU here, and " + words.error().context);
    } else {
      out = failed("gpu", words.error().context, "does `/usr/local/cuda` or a sample of it work?");
    }
  }
  out.measured.set("nodes", std::move(nodes));
  return out;
}

}  // namespace laird::agent::selftest
