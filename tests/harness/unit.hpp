// A thin layer over ThrowTheSwitch Unity: tests register themselves, so adding one is one macro.
//
//   TEST(refuses_a_stale_price) { TEST_ASSERT_TRUE(...); }
//
// Run a program with --file test_x to run one file's tests, --name text to run those whose name
// holds the text, --list to see them.
#pragma once

#include <unity.h>
// Unity's C headers define these as macros and so hide the functions of <cmath>.
#undef isnan
#undef isinf

#include <string>

namespace laird::test {

struct Registration {
  Registration(const char* file, int line, const char* name, void (*body)());
};

// Real captures and curves kept beside the checkout; skips the test with a message when absent.
[[nodiscard]] std::string shared_data_or_skip();

// Skips a test that starts a program of this build, where the build is for another machine: under
// emulation the kernel starts only its own.
void skip_if_emulated();

// A fresh folder under the system's temporary folder, removed when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace laird::test

#define TEST(test_name)                                                   \
  static void test_body_##test_name();                                    \
  static const ::laird::test::Registration test_registration_##test_name( \
      __FILE__, __LINE__, #test_name, &test_body_##test_name);            \
  static void test_body_##test_name()
