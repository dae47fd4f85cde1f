// libnvinfer, libnvonnxparser and libcuda in one, without a GPU: the virtual interfaces of the
// TensorRT whose headers it is compiled against, the network run on the processor. Memory of the
// "device" is the host's.
//
// FAKE_NVINFER in the environment: no-memory, no-device, flipped, bad-cache; else all goes well.
#include <NvInfer.h>
#include <NvOnnxParser.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include <stubs.hpp>  // written by stubs.py
#include "tests/e2e/models/fake_nvinfer/graph.hpp"

namespace {

using namespace nvinfer1;

bool mode_is(const char* word) {
  const char* mode = std::getenv("FAKE_NVINFER");
  return mode != nullptr && std::strcmp(mode, word) == 0;
}

ILogger* told_to = nullptr;

void complain(const std::string& text) {
  if (told_to != nullptr) told_to->log(ILogger::Severity::kERROR, text.c_str());
}

struct HostMemory : IHostMemory, apiv::StubHostMemory<HostMemory> {
  explicit HostMemory(std::string bytes) : bytes_(std::move(bytes)) { mImpl = this; }
  void* on_data() const { return const_cast<char*>(bytes_.data()); }
  std::size_t on_size() const { return bytes_.size(); }
  std::string bytes_;
};

struct Network : INetworkDefinition, apiv::StubNetworkDefinition<Network> {
  Network() { mImpl = this; }
  std::string model;
};

struct TimingCache : ITimingCache, apiv::StubTimingCache<TimingCache> {
  TimingCache() { mImpl = this; }
  IHostMemory* on_serialize() const { return new HostMemory("times"); }
};

struct Profile : IOptimizationProfile, apiv::StubOptimizationProfile<Profile> {
  Profile() { mImpl = this; }
  template <class Selector>
  bool on_setDimensions(const char*, Selector, const Dims& dims) {
    return dims.nbDims == 2 && dims.d[0] >= 1 && dims.d[1] >= 1;
  }
};

struct Config : IBuilderConfig, apiv::StubBuilderConfig<Config> {
  Config() { mImpl = this; }
  template <class Pool>
  void on_setMemoryPoolLimit(Pool, std::size_t bytes) {
    workspace = bytes;
  }
  void on_setMaxWorkspaceSize(std::size_t bytes) { workspace = bytes; }
  template <class Flag>
  void on_setFlag(Flag) {}
  ITimingCache* on_createTimingCache(const void* data, std::size_t size) const {
    refused = size > 0 && (size != 5 || std::memcmp(data, "times", 5) != 0);
    return new TimingCache;
  }
  bool on_setTimingCache(const ITimingCache& cache, bool) {
    timing = &cache;
    if (refused) complain("the timing cache is of another TensorRT");
    return !refused;
  }
  const ITimingCache* on_getTimingCache() const { return timing; }
  int32_t on_addOptimizationProfile(const IOptimizationProfile*) { return 0; }

  std::size_t workspace = 0;
  mutable bool refused = false;
  const ITimingCache* timing = nullptr;
};

struct Builder : IBuilder, apiv::StubBuilder<Builder> {
  Builder() { mImpl = this; }
  ~Builder() noexcept override = default;
  template <class Flags>
  INetworkDefinition* on_createNetworkV2(Flags) {
    return new Network;
  }
  IBuilderConfig* on_createBuilderConfig() { return new Config; }
  IOptimizationProfile* on_createOptimizationProfile() {
    profiles.push_back(std::make_unique<Profile>());
    return profiles.back().get();
  }
  IHostMemory* on_buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) {
    if (mode_is("no-memory")) {
      complain("[virtualMemoryBuffer.cpp] Error Code 2: OutOfMemory (no further information)");
      return nullptr;
    }
    if (static_cast<Config&>(config).workspace == 0) return nullptr;
    return new HostMemory("ENGINE" + static_cast<Network&>(network).model);
  }
  std::vector<std::unique_ptr<Profile>> profiles;
};

struct Context : IExecutionContext, apiv::StubExecutionContext<Context> {
  explicit Context(const fake::Graph& from) : graph(from) { mImpl = this; }
  bool on_setInputShape(const char*, const Dims& dims) { return shape(dims); }
  bool on_setBindingDimensions(int32_t, const Dims& dims) { return shape(dims); }
  bool on_setTensorAddress(const char* name, void* place) {
    places[name] = static_cast<float*>(place);
    return true;
  }
  template <class Stream>
  bool on_enqueueV3(Stream) {
    return run();
  }
  template <class Stream, class Event>
  bool on_enqueueV2(void* const* bindings, Stream, Event) {
    places[graph.input()] = static_cast<float*>(bindings[0]);
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      places[graph.outputs()[i]] = static_cast<float*>(bindings[i + 1]);
    }
    return run();
  }

  bool shape(const Dims& dims) {
    rows = static_cast<std::size_t>(dims.d[0]);
    width = static_cast<std::size_t>(dims.d[1]);
    return dims.nbDims == 2;
  }
  bool run() {
    const float* in = places.at(graph.input());
    for (std::size_t row = 0; row < rows; ++row) {
      auto known = graph.run({in + row * width, in + (row + 1) * width});
      for (const std::string& name : graph.outputs()) {
        std::vector<float>& out = known.at(name);
        if (mode_is("flipped") && row % 64 == 0)
          std::rotate(out.begin(), out.begin() + 1, out.end());
        std::copy(out.begin(), out.end(), places.at(name) + row * out.size());
      }
    }
    return true;
  }
  const fake::Graph& graph;
  std::map<std::string, float*> places;
  std::size_t rows = 0;
  std::size_t width = 0;
};

struct Engine : ICudaEngine, apiv::StubCudaEngine<Engine> {
  explicit Engine(std::string_view model) : graph(model) {
    mImpl = this;
    names = graph.outputs();
    names.insert(names.begin(), graph.input());
  }
  template <class... Strategy>
  IExecutionContext* on_createExecutionContext(Strategy...) {
    return new Context(graph);
  }
  int32_t on_getNbIOTensors() const { return static_cast<int32_t>(names.size()); }
  const char* on_getIOTensorName(int32_t i) const {
    return names[static_cast<std::size_t>(i)].c_str();
  }
  int32_t on_getNbBindings() const { return on_getNbIOTensors(); }
  const char* on_getBindingName(int32_t i) const { return on_getIOTensorName(i); }
  int32_t on_getBindingIndex(const char* name) const {
    return static_cast<int32_t>(std::find(names.begin(), names.end(), name) - names.begin());
  }
  fake::Graph graph;
  std::vector<std::string> names;
};

struct Runtime : IRuntime, apiv::StubRuntime<Runtime> {
  Runtime() { mImpl = this; }
  template <class... Factory>
  ICudaEngine* on_deserializeCudaEngine(const void* data, std::size_t size, Factory...) {
    const std::string_view bytes(static_cast<const char*>(data), size);
    if (!bytes.starts_with("ENGINE")) {
      complain("Serialization assertion magicTagRead == kMAGIC_TAG failed");
      return nullptr;
    }
    return new Engine(bytes.substr(6));
  }
  // From a stream: nobody asks for it.
  template <class Stream>
  ICudaEngine* on_deserializeCudaEngine(Stream&) {
    return nullptr;
  }
};

struct ParserError : nvonnxparser::StubParserError<ParserError> {
  const char* on_desc() const { return text.c_str(); }
  std::string text;
};

struct Parser : nvonnxparser::StubParser<Parser> {
  explicit Parser(Network& into) : network(into) {}
  bool on_parseFromFile(const char* path, int) {
    std::ifstream file(path, std::ios::binary);
    network.model.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    try {
      const fake::Graph graph(network.model);
      return true;
    } catch (const std::exception& broken) {
      error.text = broken.what();
      return false;
    }
  }
  int on_getNbErrors() const { return error.text.empty() ? 0 : 1; }
  const nvonnxparser::IParserError* on_getError(int) const { return &error; }
  Network& network;
  ParserError error;
};

}  // namespace

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT void* createInferBuilder_INTERNAL(void* logger, int32_t) noexcept {
  told_to = static_cast<ILogger*>(logger);
  return static_cast<IBuilder*>(new Builder);
}
FAKE_EXPORT void* createInferRuntime_INTERNAL(void* logger, int32_t) noexcept {
  told_to = static_cast<ILogger*>(logger);
  return static_cast<IRuntime*>(new Runtime);
}
FAKE_EXPORT void* createNvOnnxParser_INTERNAL(void* network, void*, int) noexcept {
  return static_cast<nvonnxparser::IParser*>(
      new Parser(static_cast<Network&>(*static_cast<INetworkDefinition*>(network))));
}
FAKE_EXPORT int32_t getInferLibVersion() noexcept { return NV_TENSORRT_VERSION; }

// The driver: a device, whose memory is ours.
FAKE_EXPORT int cuInit(unsigned) { return mode_is("no-device") ? 100 : 0; }
FAKE_EXPORT int cuDeviceGetCount(int* count) { return *count = 1, 0; }
FAKE_EXPORT int cuDeviceGet(int* device, int) { return *device = 0, 0; }
FAKE_EXPORT int cuDevicePrimaryCtxRetain(void** context, int) { return *context = context, 0; }
FAKE_EXPORT int cuCtxSetCurrent(void*) { return 0; }
FAKE_EXPORT int cuMemAlloc_v2(unsigned long long* place, std::size_t bytes) {
  *place = reinterpret_cast<unsigned long long>(std::malloc(bytes));
  return *place == 0 ? 2 : 0;
}
FAKE_EXPORT int cuMemFree_v2(unsigned long long place) {
  std::free(reinterpret_cast<void*>(place));
  return 0;
}
FAKE_EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
FAKE_EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return 0;
}
FAKE_EXPORT int cuStreamCreate(void** stream, unsigned) { return *stream = stream, 0; }
FAKE_EXPORT int cuStreamSynchronize(void*) { return 0; }
FAKE_EXPORT int cuStreamDestroy_v2(void*) { return 0; }
