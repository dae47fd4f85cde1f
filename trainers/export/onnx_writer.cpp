#include "trainers/export/onnx_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "base/require.hpp"
#include "trainers/export/half_float.hpp"

namespace laird::trainers {
namespace {

constexpr std::uint64_t kIrVersion = 7;
constexpr std::uint64_t kOpset = 13;
// Of this writer, not of the program: an upgrade alone must not change a model's hash.
constexpr std::string_view kWriterVersion = "1";
constexpr std::size_t kBlock = 16 * 1024;  // floats at a time

enum ElementType : std::uint64_t { kFloat = 1, kFloat16 = 10 };

// A protobuf message under construction.
class Message {
 public:
  Message& integer(unsigned field, std::uint64_t value) {
    varint(field << 3U);
    varint(value);
    return *this;
  }
  Message& text(unsigned field, std::string_view bytes) {
    begin(field, bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& message(unsigned field, const Message& inner) { return text(field, inner.bytes_); }
  // The bytes follow elsewhere.
  Message& begin(unsigned field, std::uint64_t length) {
    varint(field << 3U | 2U);
    varint(length);
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7U) bytes_.push_back(static_cast<char>(v | 0x80U));
    bytes_.push_back(static_cast<char>(v));
  }

  std::string bytes_;
};

// A tensor of the file: its head, and where its numbers come from.
struct Tensor {
  std::string head;  // a TensorProto up to and with the length of its raw data
  bool half = false;
  std::uint64_t first = 0;  // of the parameters
  std::uint64_t count = 0;
  std::vector<float> given;  // instead of parameters

  [[nodiscard]] std::uint64_t raw_bytes() const { return count * (half ? 2 : 4); }
};

class Graph {
 public:
  Graph(const ModelInfo& info, Precision precision)
      : info_(info), half_(precision == Precision::kHalf) {
    nodes();
  }

  // All of the model's file but the numbers of its tensors: `pieces()[i]` comes before tensor i.
  [[nodiscard]] std::vector<std::string> pieces() const {
    Message tail = ends();
    std::uint64_t length = head_.bytes().size() + tail.bytes().size();
    std::vector<std::string> out;
    for (const Tensor& tensor : tensors_) {
      const std::uint64_t whole = tensor.head.size() + tensor.raw_bytes();
      out.push_back(Message().begin(5, whole).bytes() + tensor.head);
      length += out.back().size() + tensor.raw_bytes();
    }
    Message model;
    model.integer(1, kIrVersion).text(2, "laird-train").text(3, kWriterVersion).begin(7, length);
    out.front().insert(0, model.bytes() + head_.bytes());
    out.push_back(tail.bytes() +
                  Message().message(8, Message().text(1, "").integer(2, kOpset)).bytes());
    return out;
  }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  void nodes() {
    const Scaling& scaling = info_.scaling;
    given("shift", scaling.shift);
    given("scale", scaling.scale);
    std::string at = node("Sub", {std::string(kInputName), "shift"}, "shifted");
    at = node("Mul", {at, "scale"}, "scaled");
    if (half_) at = cast(at, "scaled_half", kFloat16);
    Eigen::Index total = 0;
    const std::vector<Network<float>::Layer> layers = Network<float>::layout(info_.shape(), total);
    const bool is_number = info_.classes == 0;
    const bool has_unit =
        is_number && (scaling.target_mean != 0.0 || scaling.target_deviation != 1.0);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const std::string name = "layer" + std::to_string(l);
      const bool last = l + 1 == layers.size();
      parameters(name, layers[l]);
      const std::string out = !last || half_ || has_unit ? name : std::string(output_name(info_));
      at = node("Gemm", {at, name + ".weight", name + ".bias"}, out);
      if (!last) at = node("Relu", {at}, name + ".active");
    }
    if (half_) at = cast(at, has_unit ? "wide" : std::string(output_name(info_)), kFloat);
    if (has_unit) {
      given("deviation", {static_cast<float>(scaling.target_deviation)});
      given("mean", {static_cast<float>(scaling.target_mean)});
      at = node("Mul", {at, "deviation"}, "unit");
      at = node("Add", {at, "mean"}, std::string(output_name(info_)));
    }
    if (has_probabilities()) {
      const Message axis = Message().text(1, "axis").integer(3, 1).integer(20, 2);
      (void)node("Softmax", {at}, "probabilities", &axis);
    }
    head_.text(2, "laird-" + std::string(name(info_.kind)));
  }

  std::string node(std::string_view op, const std::vector<std::string>& inputs, std::string output,
                   const Message* attribute = nullptr) {
    Message out;
    for (const std::string& input : inputs) out.text(1, input);
    out.text(2, output).text(3, output).text(4, op);
    if (attribute != nullptr) out.message(5, *attribute);
    head_.message(1, out);
    return output;
  }

  std::string cast(const std::string& from, std::string to, ElementType type) {
    const Message attribute = Message().text(1, "to").integer(3, type).integer(20, 2);
    return node("Cast", {from}, std::move(to), &attribute);
  }

  void add(std::string_view name, const std::vector<std::uint64_t>& dims, Tensor tensor) {
    Message head;
    for (const std::uint64_t dim : dims) head.integer(1, dim);
    head.integer(2, tensor.half ? kFloat16 : kFloat).text(8, name).begin(9, tensor.raw_bytes());
    tensor.head = head.bytes();
    tensors_.push_back(std::move(tensor));
  }

  void given(std::string_view name, std::vector<float> values) {
    const std::uint64_t count = values.size();
    add(name, {count},
        {.head = {}, .half = false, .first = 0, .count = count, .given = std::move(values)});
  }

  // By column, out x in, is by row, in x out: Gemm's B as it wants it, untransposed.
  void parameters(const std::string& name, const Network<float>::Layer& layer) {
    const auto in = static_cast<std::uint64_t>(layer.in);
    const auto out = static_cast<std::uint64_t>(layer.out);
    add(name + ".weight", {in, out},
        {.head = {},
         .half = half_,
         .first = static_cast<std::uint64_t>(layer.weights),
         .count = in * out,
         .given = {}});
    add(name + ".bias", {out},
        {.head = {},
         .half = half_,
         .first = static_cast<std::uint64_t>(layer.biases),
         .count = out,
         .given = {}});
  }

  [[nodiscard]] bool has_probabilities() const {
    return info_.kind == Kind::kSoftmax || info_.kind == Kind::kMlp;
  }

  static Message value_info(std::string_view name, std::uint64_t width) {
    Message shape;
    shape.message(1, Message().text(2, "batch")).message(1, Message().integer(1, width));
    const Message tensor = Message().integer(1, kFloat).message(2, shape);
    return Message().text(1, name).message(2, Message().message(1, tensor));
  }

  [[nodiscard]] Message ends() const {
    Message out;
    out.message(11, value_info(kInputName, info_.sizes.front()));
    out.message(12, value_info(output_name(info_), info_.sizes.back()));
    if (has_probabilities()) out.message(12, value_info("probabilities", info_.sizes.back()));
    return out;
  }

  const ModelInfo& info_;
  bool half_;
  Message head_;  // the graph's nodes and name
  std::vector<Tensor> tensors_;
};

void append(std::string& out, std::uint32_t bits, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out.push_back(static_cast<char>(bits >> (8 * i) & 0xFFU));
}

Status write_tensor(const Tensor& tensor, const ReadWeights& read, const WriteBytes& write) {
  std::array<float, kBlock> block{};
  std::string bytes;
  for (std::uint64_t at = 0; at < tensor.count; at += kBlock) {
    const std::uint64_t n = std::min<std::uint64_t>(kBlock, tensor.count - at);
    const std::span<float> values = std::span(block).first(n);
    if (tensor.given.empty()) {
      LAIRD_TRY(read(tensor.first + at, values));
    } else {
      std::copy_n(tensor.given.begin() + static_cast<std::ptrdiff_t>(at), n, values.begin());
    }
    bytes.clear();
    for (const float v : values) {
      if (!std::isfinite(v)) return fail(Code::kCorrupt, "holds a weight that is no finite number");
      const std::uint32_t bits = tensor.half ? to_half(v) : std::bit_cast<std::uint32_t>(v);
      if (tensor.half && std::abs(v) > kHalfMax) {
        return fail(Code::kRefused, "has a weight of " + std::to_string(v) +
                                        ", which half precision cannot hold; export it as fp32");
      }
      append(bytes, bits, tensor.half ? 2 : 4);
    }
    LAIRD_TRY(write(bytes));
  }
  return {};
}

}  // namespace

std::string_view output_name(const ModelInfo& info) {
  return info.classes == 0 ? "value" : "logits";
}

Status write_onnx(const ModelInfo& info, Precision precision, const ReadWeights& read,
                  const WriteBytes& write) {
  const Graph graph(info, precision);
  const std::vector<std::string> pieces = graph.pieces();
  for (std::size_t i = 0; i < graph.tensors().size(); ++i) {
    LAIRD_TRY(write(pieces[i]));
    LAIRD_TRY(write_tensor(graph.tensors()[i], read, write));
  }
  return write(pieces.back());
}

}  // namespace laird::trainers
