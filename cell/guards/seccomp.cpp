#include "cell/guards/seccomp.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace laird::cell {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kOtherNumbers = 0x40000000;  // the x32 calls
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kOtherNumbers = 0;
#else
#error "the numbers of system calls are known for x86-64 and arm64"
#endif

// Calls that came after the oldest headers we build with have one number everywhere.
constexpr std::array<long, 40> kRefused = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_chroot,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_init_module,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_lookup_dcookie,
    SYS_mount,
    SYS_open_by_handle_at,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
    428,  // open_tree
    429,  // move_mount
    430,  // fsopen
    431,  // fsconfig
    432,  // fsmount
    433,  // fspick
    442,  // mount_setattr
    443,  // quotactl_fd
    467,  // open_tree_attr
};
// A program that asks for these has another way to do it.
constexpr std::array<long, 4> kUnknown = {
    425,  // io_uring_setup, which makes sockets past every filter
    426, 427,
    435,  // clone3, whose flags a filter cannot see
};
constexpr std::uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                      CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

class Program {
 public:
  void load(std::uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset); }
  void answer(std::uint32_t what) { add(BPF_RET | BPF_K, 0, 0, what); }
  void refuse_if_equal(std::uint32_t value, int error) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    answer(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error));
  }
  void add(unsigned code, std::uint8_t if_true, std::uint8_t if_false, std::uint32_t value) {
    lines_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, value});
  }
  [[nodiscard]] bool install() {
    sock_fprog program{static_cast<unsigned short>(lines_.size()), lines_.data()};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  }

 private:
  std::vector<sock_filter> lines_;
};

}  // namespace

void refuse_system_calls(const Refused& refused, Guards& guards) {
  Program program;
  program.load(offsetof(seccomp_data, arch));
  program.add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kArchitecture);
  program.answer(SECCOMP_RET_ERRNO | ENOSYS);
  program.load(offsetof(seccomp_data, nr));
  if (kOtherNumbers != 0) {
    program.add(BPF_JMP | BPF_JGE | BPF_K, 0, 1, kOtherNumbers);
    program.answer(SECCOMP_RET_ERRNO | ENOSYS);
  }
  for (const long call : kRefused) {
    program.refuse_if_equal(static_cast<std::uint32_t>(call), EPERM);
  }
  for (const long call : kUnknown) {
    program.refuse_if_equal(static_cast<std::uint32_t>(call), ENOSYS);
  }
  if (refused.tracing) program.refuse_if_equal(SYS_ptrace, EPERM);
  if (refused.sockets) program.refuse_if_equal(SYS_socket, EACCES);
  // clone: threads and processes yes, namespaces no. The flags are its first argument.
  program.add(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_clone);
  program.load(offsetof(seccomp_data, args));
  program.add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, kNamespaces);
  program.answer(SECCOMP_RET_ERRNO | EPERM);
  program.answer(SECCOMP_RET_ALLOW);
  if (!program.install()) return;
  guards.add(Guard::kSystemCalls);
  if (refused.sockets) guards.add(Guard::kNoSockets);
}

}  // namespace laird::cell
