#include "http/response.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;

TEST(an_answer_says_its_length_is_not_kept_and_closes) {
  http::Response response;
  response.body = "abc";
  response.headers = "X-One: 1\r\n";
  const std::string text = http::to_text(response);
  TEST_ASSERT_TRUE(text.starts_with("HTTP/1.1 200 OK\r\n"));
  for (const char* part :
       {"Content-Length: 3\r\n", "X-One: 1\r\n", "no-store", "Connection: close"}) {
    TEST_ASSERT_TRUE_MESSAGE(text.find(part) != std::string::npos, part);
  }
  TEST_ASSERT_TRUE(text.ends_with("\r\n\r\nabc"));
  TEST_ASSERT_TRUE(http::to_text(response, true).ends_with("\r\n\r\n"));
}
