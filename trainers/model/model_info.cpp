#include "trainers/model/model_info.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace laird::trainers {
namespace {

constexpr std::uint64_t kMark = 0x4F464E494C444F4DULL;
constexpr std::size_t kMarkBytes = 8 + 4;
constexpr std::size_t kLayersMax = 10;

void archive_floats(Archive& ar, std::vector<float>& values) {
  std::vector<std::uint32_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(),
                 [](float v) { return std::bit_cast<std::uint32_t>(v); });
  ar.sequence(bits, datasets::kFeaturesMax);
  if (!ar.reading() || ar.failed()) return;
  values.resize(bits.size());
  std::transform(bits.begin(), bits.end(), values.begin(),
                 [](std::uint32_t b) { return std::bit_cast<float>(b); });
}

bool is_sound(const ModelInfo& info) {
  const auto finite = [](float v) { return std::isfinite(v); };
  const std::vector<float>& shift = info.scaling.shift;
  const std::vector<float>& scale = info.scaling.scale;
  if (info.sizes.size() < 2 ||
      std::any_of(info.sizes.begin(), info.sizes.end(),
                  [](std::uint32_t n) { return n == 0 || n > datasets::kFeaturesMax; })) {
    return false;
  }
  return weights_of(info.shape()) <= static_cast<double>(kParametersMax) &&
         shift.size() == scale.size() && (shift.size() == 1 || shift.size() == info.sizes[0]) &&
         std::all_of(shift.begin(), shift.end(), finite) &&
         std::all_of(scale.begin(), scale.end(), finite) &&
         std::isfinite(info.scaling.target_mean) && info.scaling.target_deviation > 0.0 &&
         std::isfinite(info.scaling.target_deviation) && info.classes <= datasets::kClassesMax;
}

}  // namespace

void ModelInfo::archive(Archive& ar) {
  ar.bounded(kind, Kind::kMlp);
  ar.sequence(sizes, kLayersMax);
  archive_floats(ar, scaling.shift);
  archive_floats(ar, scaling.scale);
  ar(scaling.target_mean);
  ar(scaling.target_deviation);
  ar(classes);
  ar.text(params, kParamsTextMax);
}

Shape ModelInfo::shape() const { return {sizes, loss_of(kind)}; }

models::Judge ModelInfo::judge() const {
  models::Judge out;
  out.loss = loss_of(kind);
  out.outputs = sizes.back();
  out.decision = classes == 0       ? models::Decision::kNumber
                 : out.outputs == 1 ? models::Decision::kSign
                                    : models::Decision::kLargest;
  out.target_deviation = scaling.target_deviation;
  return out;
}

ModelInfo info_of(const Params& params, const Shape& shape, const datasets::Dataset& data) {
  ModelInfo out;
  out.kind = params.kind;
  out.sizes = shape.sizes;
  out.scaling = scaling_of(data);
  out.classes = data.classes;
  if (params.text.size() <= kParamsTextMax) out.params = params.text;
  return out;
}

Bytes begin_payload(ModelInfo info, std::size_t state_bytes) {
  Bytes described;
  Archive inner = Archive::writer(described);
  inner(info);
  Bytes out;
  out.reserve(kMarkBytes + described.size() + state_bytes);
  Archive ar = Archive::writer(out);
  std::uint64_t mark = kMark;
  auto length = static_cast<std::uint32_t>(described.size());
  ar(mark);
  ar(length);
  out.insert(out.end(), described.begin(), described.end());
  return out;
}

Result<Payload> read_info(std::string_view payload) {
  Archive ar = Archive::reader(payload);
  std::uint64_t mark = 0;
  std::uint32_t length = 0;
  ar(mark);
  if (ar.failed() || mark != kMark) return Payload{};
  ar(length);
  if (ar.failed() || length > kInfoBytesMax || payload.size() - kMarkBytes < length) {
    return fail(Code::kCorrupt, "is cut inside the description of its model");
  }
  Payload out;
  out.info.emplace();
  out.state_at = kMarkBytes + length;
  Archive inner = Archive::reader(payload.substr(kMarkBytes, length));
  inner(*out.info);
  if (inner.failed() || !inner.at_end() || !is_sound(*out.info)) {
    return fail(Code::kCorrupt, "describes a model that cannot be");
  }
  return out;
}

}  // namespace laird::trainers
