#include "agent/core/step/titles/title_body.hpp"

#include <algorithm>

namespace laird::core {

void TitleBody::archive(Archive& ar) {
  ar(spec);
  ar(submitted_digest, accepted_wall, moves);
  ar.text(from, kNameBytesMax);
  ar(planned_samples, samples);
  ar.sequence(files, kCheckpointFilesMax);
  ar(too_large);
}

namespace {

std::string encoded(TitleBody& body) {
  Bytes bytes;
  Archive ar = Archive::writer(bytes);
  std::int64_t format = kTitleBodyFormat;
  ar(format);
  ar(body);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

std::string encode_title_body(TitleBody body) {
  std::string out = encoded(body);
  if (out.size() <= kTitleBodyBytesMax) return out;
  body.files.clear();
  body.samples = 0;
  body.too_large = true;
  return encoded(body);
}

bool is_checkpoint_file_name(std::string_view name) {
  if (name.empty() || name.size() > kFileNameBytesMax || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

Result<TitleBody> decode_title_body(std::string_view bytes) {
  const auto corrupt = [](const char* what) { return fail(Code::kCorrupt, what); };
  if (bytes.size() < sizeof(std::int64_t)) return corrupt("what came with the title is cut");
  std::int64_t format = 0;
  Archive head = Archive::reader(bytes.substr(0, sizeof format));
  head(format);
  if (format < kTitleBodyFormatOldest || format > kTitleBodyFormat) {
    return corrupt("what came with the title is of another version; upgrade this board");
  }
  TitleBody body;
  Archive ar = Archive::reader(bytes.substr(sizeof format), format);
  ar(body);
  if (ar.failed() || !ar.at_end()) return corrupt("what came with the title does not decode");
  const TaskSpec& spec = body.spec;
  const bool plain = spec.movable && !spec.every.wanted() && spec.promotes.empty() &&
                     spec.run_of.empty() && spec.promote.fits_limits();
  const bool times = is_instant(body.accepted_wall) && spec.deadline_after >= 0 &&
                     spec.deadline_wall >= 0 && spec.deadline_wall <= kTimeMax + kDeadlineMax;
  std::size_t all = 0;
  const bool files = std::all_of(body.files.begin(), body.files.end(), [&](const CopiedFile& f) {
    all += f.bytes.size();
    return is_checkpoint_file_name(f.name);
  });
  if (!plain || !times || !files || all > kCheckpointCopyBytesMax ||
      body.planned_samples > kSamplesMax || body.samples > kSamplesMax) {
    return corrupt("what came with the title is beyond the limits");
  }
  return body;
}

}  // namespace laird::core
