#include "agent/machine.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/archive.hpp"
#include "mqtt/client/client.hpp"

namespace laird::agent {
namespace {

// Names the build that runs: the digest of its own file, which stays readable when an upgrade has
// put another in its place.
std::uint64_t program_digest() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  std::vector<char> part(1 << 16);
  Archive ar = Archive::hasher();
  while (in.read(part.data(), static_cast<std::streamsize>(part.size())), in.gcount() > 0) {
    ar.raw({part.data(), static_cast<std::size_t>(in.gcount())});
  }
  return ar.digest();
}

std::uint64_t boot_digest() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return digest_of(id + "\n");
}

std::int64_t resident_kb() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long size = 0;
  long resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &size, &resident);
  std::fclose(file);
  return read == 2 ? resident * (::sysconf(_SC_PAGESIZE) / 1024) : 0;
}

Footprint own_footprint() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1000 + t.tv_usec / 1000; };
  return {resident_kb(), ms(used.ru_utime) + ms(used.ru_stime)};
}

}  // namespace

Machine this_machine(Clock& clock, Processes& processes) {
  return {clock,
          processes,
          [](mqtt::Options options) -> Result<std::unique_ptr<mqtt::Connection>> {
            return mqtt::Client::create(std::move(options));
          },
          own_footprint,
          boot_digest(),
          program_digest()};
}

}  // namespace laird::agent
