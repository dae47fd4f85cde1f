// The plugin for the TensorRT whose headers it is compiled against: one source for 8.0 to 11.
//
// TensorRT's virtual tables differ by major version, so a plugin fits the libraries of its own
// major version only, and checks that. Nothing is linked: the libraries are opened at run time, and
// CUDA is asked for a device first, since TensorRT without a driver gives pointers that are none.
// What changed between the versions stands in the namespace `differences` below.
#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "promote/tensorrt/plugin_abi.h"

// What one version deprecates is the only way in another.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define LAIRD_TRT_AT_LEAST(major, minor) \
  (NV_TENSORRT_MAJOR > (major) || (NV_TENSORRT_MAJOR == (major) && NV_TENSORRT_MINOR >= (minor)))

namespace {

using nvinfer1::Dims;

// One sentence into the caller's buffer.
void tell(char* problem, size_t bytes, const std::string& text) {
  std::snprintf(problem, bytes, "%s", text.c_str());
}

// Keeps the first error of a call; the rest of what TensorRT says is not ours to keep.
class Logger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity > Severity::kERROR || message == nullptr) return;
    try {
      const std::string text(message);
      no_memory_ = no_memory_ || text.find("out of memory") != text.npos ||
                   text.find("OutOfMemory") != text.npos || text.find("Out of memory") != text.npos;
      if (first_.empty()) first_ = text.substr(0, 200);
    } catch (...) {
      no_memory_ = true;
    }
  }
  void forget() {
    first_.clear();
    no_memory_ = false;
  }
  [[nodiscard]] bool no_memory() const { return no_memory_; }
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  std::string first_;
  bool no_memory_ = false;
};

// The few calls of CUDA's driver interface.
struct Cuda {
  using Result = int;
  Result (*init)(unsigned) = nullptr;
  Result (*device_count)(int*) = nullptr;
  Result (*device)(int*, int) = nullptr;
  Result (*retain)(void**, int) = nullptr;
  Result (*set_current)(void*) = nullptr;
  Result (*allocate)(unsigned long long*, size_t) = nullptr;
  Result (*release)(unsigned long long) = nullptr;
  Result (*to_device)(unsigned long long, const void*, size_t) = nullptr;
  Result (*to_host)(void*, unsigned long long, size_t) = nullptr;
  Result (*make_stream)(void**, unsigned) = nullptr;
  Result (*synchronize)(void*) = nullptr;
  Result (*end_stream)(void*) = nullptr;
};

struct Symbols {
  void* (*make_builder)(void*, int32_t) = nullptr;
  void* (*make_runtime)(void*, int32_t) = nullptr;
  void* (*make_parser)(void*, void*, int32_t) = nullptr;
  int32_t (*version)() = nullptr;
};

Cuda cuda;
Symbols symbols;
Logger logger;

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

void* open_any(std::initializer_list<std::string> names) {
  for (const std::string& name : names) {
    if (void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  }
  return nullptr;
}

bool open_cuda(std::string& why) {
  void* library = open_any({"libcuda.so.1"});
  if (library == nullptr) {
    why = "no CUDA driver on this board (libcuda.so.1)";
    return false;
  }
  const bool whole = find(library, "cuInit", cuda.init) &&
                     find(library, "cuDeviceGetCount", cuda.device_count) &&
                     find(library, "cuDeviceGet", cuda.device) &&
                     find(library, "cuDevicePrimaryCtxRetain", cuda.retain) &&
                     find(library, "cuCtxSetCurrent", cuda.set_current) &&
                     find(library, "cuMemAlloc_v2", cuda.allocate) &&
                     find(library, "cuMemFree_v2", cuda.release) &&
                     find(library, "cuMemcpyHtoD_v2", cuda.to_device) &&
                     find(library, "cuMemcpyDtoH_v2", cuda.to_host) &&
                     find(library, "cuStreamCreate", cuda.make_stream) &&
                     find(library, "cuStreamSynchronize", cuda.synchronize) &&
                     find(library, "cuStreamDestroy_v2", cuda.end_stream);
  int count = 0;
  int device = 0;
  void* context = nullptr;
  if (!whole || cuda.init(0) != 0 || cuda.device_count(&count) != 0 || count < 1 ||
      cuda.device(&device, 0) != 0 || cuda.retain(&context, device) != 0 ||
      cuda.set_current(context) != 0) {
    why = "CUDA finds no device";
    return false;
  }
  return true;
}

bool open_tensorrt(std::string& why) {
  const std::string major = std::to_string(NV_TENSORRT_MAJOR);
  void* core = open_any({"libnvinfer.so." + major, "libnvinfer.so"});
  void* parser = open_any({"libnvonnxparser.so." + major, "libnvonnxparser.so"});
  const bool whole = core != nullptr && parser != nullptr &&
                     find(core, "createInferBuilder_INTERNAL", symbols.make_builder) &&
                     find(core, "createInferRuntime_INTERNAL", symbols.make_runtime) &&
                     find(core, "getInferLibVersion", symbols.version) &&
                     find(parser, "createNvOnnxParser_INTERNAL", symbols.make_parser);
  if (!whole) {
    why = "no TensorRT " + major + " with its ONNX parser on this board";
    return false;
  }
  return true;
}

// What the versions do differently, each difference once.
namespace differences {

void set_workspace(nvinfer1::IBuilderConfig& config, uint64_t bytes) {
#if LAIRD_TRT_AT_LEAST(8, 4)
  config.setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE, bytes);
#else
  config.setMaxWorkspaceSize(bytes);
#endif
}

uint32_t network_flags() {
#if LAIRD_TRT_AT_LEAST(10, 0)
  return 0;
#else
  return 1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
#endif
}

// From 11 on the types are those of the ONNX file.
void set_precision(nvinfer1::IBuilderConfig& config, const laird_trt_build& build) {
#if !LAIRD_TRT_AT_LEAST(11, 0)
  if (build.precision == LAIRD_TRT_FP16 && build.onnx_is_half == 0) {
    config.setFlag(nvinfer1::BuilderFlag::kFP16);
  }
  if (build.precision == LAIRD_TRT_INT8) config.setFlag(nvinfer1::BuilderFlag::kINT8);
#else
  (void)config;
  (void)build;
#endif
}

std::vector<std::string> tensors(const nvinfer1::ICudaEngine& engine) {
  std::vector<std::string> out;
#if LAIRD_TRT_AT_LEAST(8, 5)
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) out.emplace_back(engine.getIOTensorName(i));
#else
  for (int32_t i = 0; i < engine.getNbBindings(); ++i) out.emplace_back(engine.getBindingName(i));
#endif
  return out;
}

bool enqueue(const nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext& context,
             const std::vector<std::string>& names, std::vector<void*> places,
             const std::string& input, const Dims& shape, void* stream) {
#if LAIRD_TRT_AT_LEAST(8, 5)
  (void)engine;
  if (!context.setInputShape(input.c_str(), shape)) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!context.setTensorAddress(names[i].c_str(), places[i])) return false;
  }
  return context.enqueueV3(static_cast<cudaStream_t>(stream));
#else
  (void)names;
  if (!context.setBindingDimensions(engine.getBindingIndex(input.c_str()), shape)) return false;
  return context.enqueueV2(places.data(), static_cast<cudaStream_t>(stream), nullptr);
#endif
}

}  // namespace differences

Dims shape_of(int64_t batch, int64_t features) {
  Dims out{};
  out.nbDims = 2;
  out.d[0] = static_cast<std::decay_t<decltype(out.d[0])>>(batch);
  out.d[1] = static_cast<std::decay_t<decltype(out.d[1])>>(features);
  return out;
}

std::string read_all(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool write_all(const char* path, const void* data, size_t bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  file.flush();
  return file.good();
}

// A build in progress; what it needs goes away in the reverse order.
class Build {
 public:
  Build(const laird_trt_build& wanted, std::string& why) : wanted_(wanted), why_(why) {}

  int run() {
    builder_.reset(
        static_cast<nvinfer1::IBuilder*>(symbols.make_builder(&logger, NV_TENSORRT_VERSION)));
    if (builder_ == nullptr) return failed("TensorRT gives no builder");
    network_.reset(builder_->createNetworkV2(differences::network_flags()));
    config_.reset(builder_->createBuilderConfig());
    if (network_ == nullptr || config_ == nullptr) return failed("TensorRT gives no network");
    if (const int code = parse(); code != LAIRD_TRT_OK) return code;
    if (!configure()) return failed("TensorRT takes no profile for the input");
    const std::unique_ptr<nvinfer1::IHostMemory> engine(
        builder_->buildSerializedNetwork(*network_, *config_));
    if (engine == nullptr) return failed("TensorRT built no engine");
    if (!write_all(wanted_.engine, engine->data(), engine->size())) {
      why_ = std::string("cannot write ") + wanted_.engine;
      return LAIRD_TRT_FAILED;
    }
    keep_timing();
    return LAIRD_TRT_OK;
  }

 private:
  int failed(const std::string& what) {
    if (logger.no_memory()) {
      why_ =
          "TensorRT ran out of memory; give it less with --workspace, stop other programs, or "
          "build on another board of this module and copy its cache";
      return LAIRD_TRT_NO_MEMORY;
    }
    why_ = what + (logger.first().empty() ? "" : ": " + logger.first());
    return LAIRD_TRT_FAILED;
  }

  int parse() {
    parser_.reset(static_cast<nvonnxparser::IParser*>(
        symbols.make_parser(network_.get(), &logger, NV_ONNX_PARSER_VERSION)));
    if (parser_ == nullptr) return failed("TensorRT gives no parser of ONNX");
    const auto quiet = static_cast<int>(nvinfer1::ILogger::Severity::kERROR);
    if (parser_->parseFromFile(wanted_.onnx, quiet)) return LAIRD_TRT_OK;
    const nvonnxparser::IParserError* error =
        parser_->getNbErrors() > 0 ? parser_->getError(0) : nullptr;
    if (logger.no_memory()) return failed("");
    why_ = std::string("TensorRT cannot read the model") +
           (error == nullptr || error->desc() == nullptr ? "" : std::string(": ") + error->desc());
    return LAIRD_TRT_UNSUPPORTED;
  }

  bool configure() {
    differences::set_workspace(*config_, wanted_.workspace_bytes);
    differences::set_precision(*config_, wanted_);
    const std::string known = read_all(wanted_.timing_cache);
    timing_.reset(config_->createTimingCache(known.data(), known.size()));
    if (timing_ != nullptr && !config_->setTimingCache(*timing_, false)) return false;
    nvinfer1::IOptimizationProfile* profile = builder_->createOptimizationProfile();
    const int64_t usual = std::min<int64_t>(wanted_.batch_max, 8);
    const auto set = [&](nvinfer1::OptProfileSelector which, int64_t batch) {
      return profile->setDimensions(wanted_.input, which, shape_of(batch, wanted_.features));
    };
    return profile != nullptr && set(nvinfer1::OptProfileSelector::kMIN, 1) &&
           set(nvinfer1::OptProfileSelector::kOPT, usual) &&
           set(nvinfer1::OptProfileSelector::kMAX, wanted_.batch_max) &&
           config_->addOptimizationProfile(profile) >= 0;
  }

  // Not keeping it costs time the next time, and nothing else.
  void keep_timing() {
    const nvinfer1::ITimingCache* cache = config_->getTimingCache();
    if (cache == nullptr) return;
    const std::unique_ptr<nvinfer1::IHostMemory> bytes(cache->serialize());
    if (bytes == nullptr) return;
    const std::string staged = std::string(wanted_.timing_cache) + ".new";
    if (write_all(staged.c_str(), bytes->data(), bytes->size())) {
      (void)std::rename(staged.c_str(), wanted_.timing_cache);
    }
  }

  const laird_trt_build& wanted_;
  std::string& why_;
  std::unique_ptr<nvinfer1::IBuilder> builder_;
  std::unique_ptr<nvinfer1::INetworkDefinition> network_;
  std::unique_ptr<nvinfer1::IBuilderConfig> config_;
  std::unique_ptr<nvinfer1::ITimingCache> timing_;
  std::unique_ptr<nvonnxparser::IParser> parser_;
};

class Opened {
 public:
  Opened(const laird_trt_ports& ports, int64_t batch_max)
      : input_(ports.input),
        output_(ports.output),
        features_(ports.features),
        outputs_(ports.outputs),
        batch_max_(batch_max) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    context_.reset();
    engine_.reset();
    for (const unsigned long long place : places_) (void)cuda.release(place);
    if (stream_ != nullptr) (void)cuda.end_stream(stream_);
  }

  bool load(const char* path, std::string& why) {
    const std::string bytes = read_all(path);
    runtime_.reset(
        static_cast<nvinfer1::IRuntime*>(symbols.make_runtime(&logger, NV_TENSORRT_VERSION)));
    if (runtime_ != nullptr) {
      engine_.reset(runtime_->deserializeCudaEngine(bytes.data(), bytes.size()));
    }
    if (engine_ != nullptr) context_.reset(engine_->createExecutionContext());
    if (context_ == nullptr || cuda.make_stream(&stream_, 0) != 0) {
      why = "TensorRT does not take the engine " + std::string(path) +
            (logger.first().empty() ? "" : ": " + logger.first());
      return false;
    }
    return allocate(why);
  }

  bool run(const float* inputs, int64_t rows, float* answers, double* milliseconds,
           std::string& why) {
    const auto start = std::chrono::steady_clock::now();
    const size_t in_bytes = static_cast<size_t>(rows * features_) * sizeof(float);
    const size_t out_bytes = static_cast<size_t>(rows * outputs_) * sizeof(float);
    std::vector<void*> pointers;
    for (const unsigned long long place : places_) {
      pointers.push_back(reinterpret_cast<void*>(place));
    }
    const bool done =
        rows >= 1 && rows <= batch_max_ && cuda.to_device(places_[in_], inputs, in_bytes) == 0 &&
        differences::enqueue(*engine_, *context_, names_, pointers, input_,
                             shape_of(rows, features_), stream_) &&
        cuda.synchronize(stream_) == 0 && cuda.to_host(answers, places_[out_], out_bytes) == 0;
    if (!done)
      why = "the engine did not run" + (logger.first().empty() ? "" : ": " + logger.first());
    *milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return done;
  }

 private:
  // Every output is as wide as the one that is asked for: logits and probabilities.
  bool allocate(std::string& why) {
    names_ = differences::tensors(*engine_);
    const auto place_of = [&](const std::string& name) {
      return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    };
    in_ = place_of(input_);
    out_ = place_of(output_);
    if (in_ == names_.size() || out_ == names_.size()) {
      why = "the engine has no input " + input_ + " or no output " + output_;
      return false;
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      const int64_t width = i == in_ ? features_ : outputs_;
      unsigned long long place = 0;
      if (cuda.allocate(&place, static_cast<size_t>(batch_max_ * width) * sizeof(float)) != 0) {
        why = "the board has no memory left for the engine's inputs and outputs";
        return false;
      }
      places_.push_back(place);
    }
    return true;
  }

  std::string input_, output_;
  int64_t features_, outputs_, batch_max_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  void* stream_ = nullptr;
  std::vector<std::string> names_;
  std::vector<unsigned long long> places_;
  size_t in_ = 0;
  size_t out_ = 0;
};

// No exception leaves a C function.
template <class Body>
int guarded(char* problem, size_t problem_bytes, Body&& body) {
  try {
    logger.forget();
    std::string why;
    const int code = body(why);
    if (code != LAIRD_TRT_OK) tell(problem, problem_bytes, why);
    return code;
  } catch (const std::bad_alloc&) {
    tell(problem, problem_bytes, "the board has no memory left");
    return LAIRD_TRT_NO_MEMORY;
  } catch (const std::exception& error) {
    tell(problem, problem_bytes, error.what());
    return LAIRD_TRT_FAILED;
  }
}

}  // namespace

#define LAIRD_TRT_EXPORT extern "C" __attribute__((visibility("default")))

LAIRD_TRT_EXPORT int laird_trt_abi(void) { return LAIRD_TRT_ABI; }

LAIRD_TRT_EXPORT int laird_trt_start(int version[3], char* problem, size_t problem_bytes) {
  return guarded(problem, problem_bytes, [&](std::string& why) -> int {
    if (!open_cuda(why) || !open_tensorrt(why)) return LAIRD_TRT_ABSENT;
    const int number = symbols.version();
    const int unit = number < 10'000 ? 1000 : 10'000;
    version[0] = number / unit;
    version[1] = number % unit / 100;
    version[2] = number % 100;
    if (version[0] == NV_TENSORRT_MAJOR) return LAIRD_TRT_OK;
    why = "this plugin is for TensorRT " + std::to_string(NV_TENSORRT_MAJOR) + ", the board has " +
          std::to_string(version[0]);
    return LAIRD_TRT_ABSENT;
  });
}

LAIRD_TRT_EXPORT int laird_trt_make(const laird_trt_build* build, char* problem,
                                    size_t problem_bytes) {
  return guarded(problem, problem_bytes,
                 [&](std::string& why) { return Build(*build, why).run(); });
}

LAIRD_TRT_EXPORT void* laird_trt_open(const char* engine, const laird_trt_ports* ports,
                                      int64_t batch_max, char* problem, size_t problem_bytes) {
  std::unique_ptr<Opened> out;
  const int code = guarded(problem, problem_bytes, [&](std::string& why) -> int {
    out = std::make_unique<Opened>(*ports, batch_max);
    return out->load(engine, why) ? LAIRD_TRT_OK : LAIRD_TRT_FAILED;
  });
  return code == LAIRD_TRT_OK ? out.release() : nullptr;
}

LAIRD_TRT_EXPORT int laird_trt_run(void* opened, const float* inputs, int64_t rows, float* answers,
                                   double* milliseconds, char* problem, size_t problem_bytes) {
  return guarded(problem, problem_bytes, [&](std::string& why) -> int {
    const bool done = static_cast<Opened*>(opened)->run(inputs, rows, answers, milliseconds, why);
    return done ? LAIRD_TRT_OK : LAIRD_TRT_FAILED;
  });
}

LAIRD_TRT_EXPORT void laird_trt_close(void* opened) { delete static_cast<Opened*>(opened); }
