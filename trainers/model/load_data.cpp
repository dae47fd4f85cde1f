#include "trainers/model/load_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/random.hpp"
#include "datasets/csv.hpp"
#include "datasets/idx.hpp"

namespace laird::trainers {
namespace {

std::uint32_t rows_max_of(const Params& params) {
  return params.limit_rows == 0 ? datasets::kRowsMax : params.limit_rows;
}

// The agent says in the environment which folders are for data. By hand there is no such bound.
Result<std::unique_ptr<datasets::ByteSource>> open_data(const std::string& path) {
  std::error_code error;
  const std::string own = std::filesystem::current_path(error).string();
  LAIRD_TRY(check_data_path(path, std::getenv("LAIRD_DATA_ROOTS"), own));
  return datasets::open_file(path);
}

Result<datasets::Dataset> load_idx(const Params& params) {
  Result<std::unique_ptr<datasets::ByteSource>> images = open_data(params.data.images);
  LAIRD_TRY(images);
  Result<std::unique_ptr<datasets::ByteSource>> labels = open_data(params.data.labels);
  LAIRD_TRY(labels);
  return datasets::read_idx(**images, **labels, rows_max_of(params));
}

Result<datasets::Dataset> load_csv(const Params& params) {
  Result<std::unique_ptr<datasets::ByteSource>> file = open_data(params.data.path);
  LAIRD_TRY(file);
  datasets::CsvLayout layout;
  layout.label = params.data.label;
  layout.header = params.data.header;
  layout.label_is_number = params.target_is_number;
  layout.rows_max = rows_max_of(params);
  layout.class_count = params.data.class_count;
  return datasets::read_csv(**file, layout);
}

void scale_targets(datasets::Dataset& data, double mean, double scale) {
  for (float& t : data.targets) {
    t = static_cast<float>((static_cast<double>(t) - mean) * scale);
  }
  data.target_mean = mean;
  data.target_deviation = 1.0 / scale;
}

// Numbers to predict come in any unit; models see them with mean 0 and variance 1, so that a step
// size means the same for every data set.
void standardise_targets(datasets::Dataset& data) {
  double sum = 0.0;
  double squares = 0.0;
  for (const float t : data.targets) {
    sum += static_cast<double>(t);
    squares += static_cast<double>(t) * static_cast<double>(t);
  }
  const auto n = static_cast<double>(data.targets.size());
  const double mean = sum / n;
  const double variance = squares / n - mean * mean;
  const double scale = variance > 1e-12 ? 1.0 / std::sqrt(variance) : 1.0;
  scale_targets(data, mean, scale);
}

// Scales by the rows themselves.
void set_scaling(const Params& params, datasets::Dataset& data) {
  if (params.target_is_number && !params.fleet) standardise_targets(data);
  if (params.data.shift || params.data.scale) {
    data.rescale(params.data.shift.value_or(0.0), params.data.scale.value_or(1.0));
  } else {
    data.standardise();
  }
}

Status scale_like(const Scaling& trained, datasets::Dataset& data) {
  scale_targets(data, trained.target_mean, 1.0 / trained.target_deviation);
  return data.scale_as(trained.shift, trained.scale);
}

Status set_class_count(std::uint32_t count, datasets::Dataset& data) {
  if (data.classes > count) {
    return fail(Code::kInvalid, "params: /data/class_count: the data has a row of class " +
                                    std::to_string(data.classes - 1) + "; the classes are 0 to " +
                                    std::to_string(count - 1));
  }
  data.classes = count;
  return {};
}

Status fit_to_kind(const Params& params, datasets::Dataset& data) {
  if (params.data.class_count > 0 && data.classes > 0) {
    LAIRD_TRY(set_class_count(params.data.class_count, data));
  }
  if (!params.classes.empty()) {
    LAIRD_TRY(data.keep_classes(params.classes));
  }
  if (params.target_is_number) {
    if (data.classes > 0) {
      data.targets.assign(data.labels.begin(), data.labels.end());
      data.labels.clear();
      data.classes = 0;
    }
    return {};
  }
  if (data.classes < 2) {
    return fail(Code::kInvalid,
                "params: /data: every row has the same class; there is nothing to "
                "learn");
  }
  if (params.positive_class && *params.positive_class >= data.classes) {
    return fail(Code::kInvalid, "params: /positive_class: there is no class " +
                                    std::to_string(*params.positive_class) +
                                    " in the data; give 0 to " + std::to_string(data.classes - 1));
  }
  if (params.positive_class) {
    for (std::uint16_t& label : data.labels) label = label == *params.positive_class ? 1 : 0;
    data.classes = 2;
  }
  return {};
}

// The file itself, also by a way through links; one that is not there by its name.
std::string real_path(const std::string& path) {
  std::error_code error;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error).string();
}

// Read or made, with its labels as the kind needs them; nothing is scaled yet.
Result<datasets::Dataset> read_rows(const Params& params) {
  Result<datasets::Dataset> data = [&]() -> Result<datasets::Dataset> {
    switch (params.data.format) {
      case Format::kIdx: return load_idx(params);
      case Format::kCsv: return load_csv(params);
      case Format::kSynthetic: break;
    }
    DataParams made = params.data;
    if (params.limit_rows > 0) made.rows = std::min(made.rows, params.limit_rows);
    return make_synthetic(made);
  }();
  LAIRD_TRY(data);
  LAIRD_TRY(fit_to_kind(params, *data));
  return data;
}

}  // namespace

Status check_data_path(const std::string& path, const char* roots, const std::string& own) {
  if (roots == nullptr) return {};
  const std::string file = real_path(path);
  const auto holds = [&file](const std::string& root) {
    return !root.empty() && root != "/" && file.starts_with(real_path(root) + "/");
  };
  bool allowed = holds(own);
  for (std::string_view left = roots; !left.empty();) {
    const std::size_t end = std::min(left.find(':'), left.size());
    const std::string root(left.substr(0, end));
    allowed = allowed || root == "/" || holds(root);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  if (allowed) return {};
  return fail(Code::kRefused, "'" + path + "' is in none of the board's folders for data (" +
                                  std::string(roots) +
                                  "); put it there, or name its folder in data_roots of the "
                                  "board's file");
}

datasets::Dataset make_synthetic(const DataParams& params) {
  Random random(params.seed);
  datasets::Dataset data;
  data.rows = params.rows;
  data.features = params.features;
  data.classes = params.classes;
  data.values.reserve(std::size_t{data.rows} * data.features);
  const std::size_t centres = std::max(params.classes, 1U);
  std::vector<double> centre(centres * data.features);
  for (double& c : centre) c = random.normal();
  for (std::uint32_t r = 0; r < data.rows; ++r) {
    if (data.classes == 0) {
      double target = params.noise * random.normal();
      for (std::uint32_t f = 0; f < data.features; ++f) {
        const double x = random.normal();
        target += centre[f] * x;
        data.values.push_back(static_cast<float>(x));
      }
      data.targets.push_back(static_cast<float>(target));
      continue;
    }
    const std::uint32_t label = random.below(data.classes);
    const double* around = centre.data() + std::size_t{label} * data.features;
    for (std::uint32_t f = 0; f < data.features; ++f) {
      data.values.push_back(static_cast<float>(around[f] + params.noise * random.normal()));
    }
    data.labels.push_back(static_cast<std::uint16_t>(label));
  }
  return data;
}

Result<TaskData> load_task_data(const Params& params) {
  Result<datasets::Dataset> all = read_rows(params);
  LAIRD_TRY(all);
  TaskData out;
  if (params.held_out > 0.0) {
    if (all->rows < 2) {
      return fail(Code::kInvalid, "params: /held_out: one row cannot be divided; give more rows");
    }
    out.held_out = all->take_part(params.held_out);
  }
  out.training = std::move(*all);
  set_scaling(params, out.training);
  if (out.held_out) LAIRD_TRY(scale_like(scaling_of(out.training), *out.held_out));
  return out;
}

Result<datasets::Dataset> load_data(const Params& params, const Scaling* trained) {
  Result<datasets::Dataset> data = read_rows(params);
  LAIRD_TRY(data);
  if (trained != nullptr) {
    LAIRD_TRY(scale_like(*trained, *data));
  } else {
    set_scaling(params, *data);
  }
  return data;
}

Scaling scaling_of(const datasets::Dataset& data) {
  return {data.shift, data.scale, data.target_mean, data.target_deviation};
}

}  // namespace laird::trainers
