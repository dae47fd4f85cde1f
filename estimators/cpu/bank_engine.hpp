// Who steps many banks at once: an engine of the CPU, or the GPU (estimators/cuda). All give the
// same bits, so which one it was can be told from nothing but the time it took.
#pragma once

#include <cstddef>
#include <memory>

#include "base/error.hpp"
#include "estimators/cpu/kernels.hpp"

namespace laird::estimators {

class BankEngine {
 public:
  virtual ~BankEngine() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  // Memory that both the caller and the engine reach, aligned to a tile; null when there is none.
  // Everything that a BankWork or a BankLook points to is in such memory.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  // After an error the memory must not be read: a device that failed may not give it back.
  [[nodiscard]] virtual Status step(const BankWork& work) = 0;
  [[nodiscard]] virtual Status look(const BankLook& look) = 0;
};

[[nodiscard]] std::unique_ptr<BankEngine> cpu_bank_engine(Isa isa = best_isa());

// Memory of an engine as an array; empty when there was none.
template <class T>
class EngineArray {
 public:
  EngineArray(BankEngine& engine, std::size_t count)
      : memory_(static_cast<T*>(engine.allocate(count * sizeof(T))), Release{&engine}) {}
  [[nodiscard]] T* data() const { return memory_.get(); }
  [[nodiscard]] T& operator[](std::size_t i) const { return memory_.get()[i]; }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  struct Release {
    BankEngine* engine;
    void operator()(T* memory) const { engine->release(memory); }
  };
  std::unique_ptr<T[], Release> memory_;
};

}  // namespace laird::estimators
