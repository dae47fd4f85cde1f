// Any bytes through everything that touches a tegrastats log: cut into lines, parsed, rendered,
// turned into JSON and readings. Beyond not crashing, each step's promise is checked.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "json/value.hpp"
#include "os/line_splitter.hpp"
#include "power/boards/catalogue.hpp"
#include "power/readers/tegrastats/tegrastats_line.hpp"
#include "power/readers/tegrastats/tegrastats_reading.hpp"

using namespace laird::power;

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Board board = *find_board("generic", "");
  static const auto line = std::make_unique<Line>();
  static const auto again = std::make_unique<Line>();
  laird::LineSplitter stream(kLineBytesMax, laird::Overlong::kSkip);
  int lines = 0;
  const auto take = [&](std::string_view text) {
    parse_line(text, *line);
    must(line->item_count <= text.size() && line->core_count <= Line::kCoresMax);
    for (const Item& item : line->items()) {
      must(item.name.data() >= text.data() &&
           item.name.data() + item.name.size() <= text.data() + text.size());
    }
    // The dear checks on a few lines only, or an input of newlines would take all the time.
    if (line->dropped > 0 || ++lines > 4) return;
    // What was understood is understood the same way when written back.
    const std::string written = render(*line);
    parse_line(written, *again);
    must(render(*again) == written);
    std::string json;
    append_json(*line, board, json);
    must(laird::json::parse(json, "json", {.bytes_max = 16 << 20}).has_value());
    const RuleTotal total = total_of(*line, board);
    const PowerReading reading = reading_of(*line, board, 0, Source::kRecorded);
    must(reading.total_mw.has_value() == (total.rule != nullptr));
    must(!reading.total_mw || *reading.total_mw == total.mw);
  };
  stream.feed(std::string_view(reinterpret_cast<const char*>(data), size), take);
  stream.finish(take);
  return 0;
}
