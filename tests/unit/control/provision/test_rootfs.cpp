#include "control/provision/rootfs.hpp"

#include "control/provision/board_package.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

namespace {

constexpr const char* kStatus =
    "Package: libc6\nStatus: install ok installed\nArchitecture: armhf\nVersion: 2.31-1\n\n"
    "Package: libc6\nStatus: install ok installed\nArchitecture: arm64\nVersion: 2.27-3ubuntu1.6\n"
    "Description: a library\n Package: not one\n\n"
    "Package: adduser\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 3.116\n\n"
    "Package: dpkg\nStatus: install ok triggers-awaited\nArchitecture: arm64\nVersion: 1.19";

}  // namespace

TEST(reads_dpkgs_list_for_one_architecture) {
  const auto packages = parse_dpkg_status(kStatus, "arm64");
  TEST_ASSERT_EQUAL_UINT64(3, packages.size());
  TEST_ASSERT_EQUAL_STRING("2.27-3ubuntu1.6", packages.at("libc6").version.c_str());
  TEST_ASSERT_TRUE(is_installed(packages.at("libc6")));
  TEST_ASSERT_FALSE(is_installed(packages.at("adduser")));
  // Waits for another package's trigger; its own files and scripts are done.
  TEST_ASSERT_TRUE(is_installed(packages.at("dpkg")));
  TEST_ASSERT_EQUAL_UINT64(0, parse_dpkg_status("", "arm64").size());
}

TEST(a_package_that_is_unpacked_only_is_not_installed) {
  TEST_ASSERT_FALSE(is_installed({"install ok unpacked", "1", "arm64"}));
  TEST_ASSERT_FALSE(is_installed({"install ok half-configured", "1", "arm64"}));
  TEST_ASSERT_FALSE(is_installed({"install reinstreq half-installed", "1", "arm64"}));
}

TEST(finds_a_mount_below_a_folder_and_none_beside_it) {
  const std::string mounts =
      "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
      "30 22 0:5 / /srv/L4T\\040x/rootfs2/proc rw - proc proc rw\n"
      "31 22 0:5 / /srv/L4T\\040x/rootfs/dev/pts rw - devpts devpts rw\n";
  TEST_ASSERT_EQUAL_STRING("/srv/L4T x/rootfs/dev/pts",
                           mounted_below(mounts, "/srv/L4T x/rootfs").c_str());
  TEST_ASSERT_EQUAL_STRING("", mounted_below(mounts, "/srv/L4T x/root").c_str());
  // The folder may be a mount itself: an SD card.
  TEST_ASSERT_EQUAL_STRING("", mounted_below(mounts, "/srv/L4T x/rootfs/dev/pts").c_str());
  TEST_ASSERT_EQUAL_STRING("", mounted_below("short line\n\\", "/srv").c_str());
}

TEST(reads_what_a_package_depends_on) {
  const auto depends = parse_depends("libc6:any (>= 2.27), default-mta | mail-transport-agent,");
  TEST_ASSERT_EQUAL_UINT64(2, depends.size());
  TEST_ASSERT_TRUE((depends[0] == std::vector<Dependency>{{"libc6", "2.27"}}));
  TEST_ASSERT_TRUE(
      (depends[1] == std::vector<Dependency>{{"default-mta", ""}, {"mail-transport-agent", ""}}));
  TEST_ASSERT_TRUE(parse_depends("").empty());
}

TEST(lists_the_folders_of_a_package_and_refuses_a_name_that_leads_out) {
  const auto folders = parse_folders(
      "drwxr-xr-x root/root         0 2026-11-18 13:00 ./\n"
      "-rwxr-xr-x root/root       120 2026-11-18 13:00 ./usr/bin/laird\n"
      "lrwxrwxrwx root/root         0 2026-11-18 13:00 ./usr/lib/a link -> ../../elsewhere\n");
  TEST_ASSERT_TRUE(folders.has_value());
  TEST_ASSERT_TRUE((*folders == std::vector<std::string>{"usr/bin", "usr/lib"}));
  for (const char* name : {"./usr/../../etc/passwd", "/etc/passwd"}) {
    const auto refused =
        parse_folders(std::string("-rw-r--r-- root/root 1 2026-11-18 13:00 ") + name + "\n");
    TEST_ASSERT_FALSE(refused.has_value());
  }
}

TEST(reads_what_dpkg_says_of_changed_files) {
  const auto changed = parse_verify(
      "??5??????   /usr/bin/laird\n"
      "??5?????? c /etc/laird.conf\n"
      "missing     /usr/lib/systemd/system/laird.service\n"
      "??5??????   /usr/share/doc/laird/copyright\n"
      "missing     /usr/share/documents\n");
  TEST_ASSERT_TRUE(changed.has_value());
  TEST_ASSERT_EQUAL_UINT64(5, changed->size());
  TEST_ASSERT_EQUAL_STRING("/etc/laird.conf", (*changed)[1].c_str());
  TEST_ASSERT_FALSE(parse_verify("dpkg: error\n").has_value());
}

TEST(knows_what_a_system_may_leave_out_of_a_package) {
  for (const char* path :
       {"/usr/share/doc", "/usr/share/doc/laird/copyright", "/usr/share/man/man8/laird.8.gz",
        "/usr/share/lintian/overrides/laird"}) {
    TEST_ASSERT_TRUE(is_documentation(path));
  }
  for (const char* path : {"/usr/share/documents", "/usr/bin/laird", "/usr/share/laird/boards/x"}) {
    TEST_ASSERT_FALSE(is_documentation(path));
  }
}
