// Any bytes as the files around a model: model.json, rows, and what trtexec writes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/require.hpp"
#include "models/model_file.hpp"
#include "models/rows_file.hpp"
#include "promote/trtexec_words.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laird;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<models::Model> model = models::parse_model(text, "model.json")) {
    // Indented, deep and small members may pass the limit of a file.
    const std::string again = models::to_text(*model);
    LAIRD_REQUIRE(again.size() > models::kModelJsonBytesMax / 2 ||
                      models::parse_model(again, "again").has_value(),
                  "what was read is written so that it reads");
  }
  if (const Result<models::Rows> rows = models::unpack_rows(text)) {
    LAIRD_REQUIRE(models::pack_rows(*rows) == text, "rows come back as they were");
  }
  (void)promote::parse_answers(text, {"input", 4, "logits", 2}, 2);
  (void)promote::parse_times(text, 1);
  (void)promote::version_in(text);
  (void)promote::failure_of(text, 1, 0, "building");
  return 0;
}
