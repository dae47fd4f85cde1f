// The graphs that laird-train writes, read and run on the processor: for the fake TensorRT.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fake {

struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

inline std::uint64_t varint(std::string_view& in) {
  std::uint64_t out = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (in.empty()) throw std::runtime_error("cut");
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    out |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return out;
  }
  throw std::runtime_error("a number of more than 64 bits");
}

inline std::vector<Field> fields(std::string_view in) {
  std::vector<Field> out;
  while (!in.empty()) {
    const std::uint64_t key = varint(in);
    Field field{key >> 3U, 0, {}};
    if ((key & 7U) == 0) {
      field.value = varint(in);
    } else if ((key & 7U) == 2) {
      const std::uint64_t length = varint(in);
      if (length > in.size()) throw std::runtime_error("cut");
      field.bytes = in.substr(0, length);
      in.remove_prefix(length);
    } else {
      throw std::runtime_error("a field of another kind");
    }
    out.push_back(field);
  }
  return out;
}

inline float from_half(std::uint16_t half) {
  const int exponent = half >> 10 & 0x1F;
  const int mantissa = half & 0x3FF;
  const double value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return static_cast<float>((half & 0x8000) != 0 ? -value : value);
}

struct Node {
  std::vector<std::string> inputs;
  std::string output;
  std::string op;
};

class Graph {
 public:
  explicit Graph(std::string_view file) {
    for (const Field& field : fields(file)) {
      if (field.number == 7) read(field.bytes);
    }
    if (nodes_.empty()) throw std::runtime_error("no graph");
  }

  [[nodiscard]] const std::vector<std::string>& outputs() const { return outputs_; }
  [[nodiscard]] const std::string& input() const { return input_; }

  [[nodiscard]] std::map<std::string, std::vector<float>> run(std::vector<float> row) const {
    std::map<std::string, std::vector<float>> known{{input_, std::move(row)}};
    for (const Node& node : nodes_) known[node.output] = apply(node, known.at(node.inputs[0]));
    return known;
  }

 private:
  void read(std::string_view graph) {
    for (const Field& field : fields(graph)) {
      if (field.number == 1) read_node(field.bytes);
      if (field.number == 5) read_tensor(field.bytes);
      if (field.number == 11) input_ = name_in(field.bytes);
      if (field.number == 12) outputs_.push_back(name_in(field.bytes));
    }
  }
  static std::string name_in(std::string_view value_info) {
    for (const Field& field : fields(value_info)) {
      if (field.number == 1) return std::string(field.bytes);
    }
    return {};
  }
  void read_node(std::string_view bytes) {
    Node node;
    for (const Field& field : fields(bytes)) {
      if (field.number == 1) node.inputs.emplace_back(field.bytes);
      if (field.number == 2) node.output = field.bytes;
      if (field.number == 4) node.op = field.bytes;
    }
    nodes_.push_back(node);
  }
  void read_tensor(std::string_view bytes) {
    std::string name;
    std::string_view raw;
    std::uint64_t type = 0;
    for (const Field& field : fields(bytes)) {
      if (field.number == 2) type = field.value;
      if (field.number == 8) name = field.bytes;
      if (field.number == 9) raw = field.bytes;
    }
    const std::size_t width = type == 10 ? 2 : 4;
    std::vector<float>& out = tensors_[name];
    for (std::size_t at = 0; at + width <= raw.size(); at += width) {
      std::uint32_t bits = 0;
      for (std::size_t b = 0; b < width; ++b) {
        bits |= std::uint32_t{static_cast<unsigned char>(raw[at + b])} << (8 * b);
      }
      out.push_back(width == 2 ? from_half(static_cast<std::uint16_t>(bits))
                               : std::bit_cast<float>(bits));
    }
  }

  [[nodiscard]] std::vector<float> apply(const Node& node, std::vector<float> x) const {
    const auto tensor = [&](std::size_t i) { return tensors_.at(node.inputs[i]); };
    const auto each = [&](auto change) {
      const std::vector<float> other = tensor(1);
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = change(x[i], other.size() == 1 ? other[0] : other[i]);
      }
      return x;
    };
    if (node.op == "Sub") return each([](float a, float b) { return a - b; });
    if (node.op == "Mul") return each([](float a, float b) { return a * b; });
    if (node.op == "Add") return each([](float a, float b) { return a + b; });
    if (node.op == "Cast") return x;
    if (node.op == "Relu") {
      for (float& v : x) v = std::max(v, 0.0F);
      return x;
    }
    if (node.op == "Gemm") {
      const std::vector<float> weights = tensor(1);
      std::vector<float> out = tensor(2);
      const std::size_t width = out.size();
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t k = 0; k < width; ++k) out[k] += x[i] * weights[i * width + k];
      }
      return out;
    }
    if (node.op == "Softmax") {
      const float top = *std::max_element(x.begin(), x.end());
      float sum = 0.0F;
      for (float& v : x) sum += v = std::exp(v - top);
      for (float& v : x) v /= sum;
      return x;
    }
    throw std::runtime_error("No importer registered for op: " + node.op);
  }

  std::vector<Node> nodes_;
  std::map<std::string, std::vector<float>> tensors_;
  std::string input_;
  std::vector<std::string> outputs_;
};

}  // namespace fake
