// A trainer that is an image, run by podman inside a cell: the words for podman, and the folder
// that holds what podman keeps of one container.
//
// Each container has a store of its own beside the board's images, which it only reads. So nothing
// of it is in podman's books, and when the cell has ended the folder is all that is left of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cell/folder.hpp"
#include "cell/spec.hpp"
#include "os/fd.hpp"

namespace laird::cell {

// Where the trainer finds the agent's socket inside of the container.
inline constexpr const char* kContainerSocketFolder = "/run/laird-trainer";
inline constexpr const char* kContainerSocket = "/run/laird-trainer/agent.sock";

// How a container reaches the GPU.
enum class GpuWay : std::uint8_t {
  kNone,
  kCdi,      // podman reads a description that nvidia-ctk wrote
  kRuntime,  // nvidia-container-runtime in place of podman's own
};

// What a container needs of its board beside its spec.
struct ContainerAround {
  std::string place;   // its own folder
  std::string driver;  // of the store with the board's images
  std::string images;  // and where that is
  Owner user;
  std::vector<gid_t> groups;
  std::vector<std::string> data_roots;  // those that are there
  GpuWay gpu = GpuWay::kNone;
  std::uint64_t processes = 0;  // of the user, those that run already counted; 0: any
  bool has_group = false;       // a control group limits its memory
};

// podman with its arguments.
[[nodiscard]] std::vector<std::string> container_words(const Spec& spec,
                                                       const ContainerAround& around);

// An empty folder for the container of `spec`, locked as long as the descriptor lives. Waits a
// little for one that is about to end.
[[nodiscard]] Result<Fd> take_place(const Spec& spec);
[[nodiscard]] std::string place_of(const Spec& spec);
// Where podman finds the folder `run` of the place: it takes no path of more than 50 bytes. Each
// cell has its own mounted there.
[[nodiscard]] std::string run_root_of(const Spec& spec);
// Removes it with all that it holds. The lock is the caller's.
void clear_place(const std::string& place);
// Removes what containers of earlier lives left; those of living ones are locked.
void clear_places(const std::string& containers_folder);

// Asks podman where its images are, and whether this one is there.
[[nodiscard]] Status find_images(const Spec& spec, ContainerAround& out);
[[nodiscard]] GpuWay gpu_way(const std::string& root);
// Listens in the container's place, for the trainer alone.
[[nodiscard]] Result<Fd> listen_in(const std::string& place);

}  // namespace laird::cell
