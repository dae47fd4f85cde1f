#include "estimators/cpu/bank_engine.hpp"

#include <new>

namespace laird::estimators {
namespace {

class CpuBankEngine final : public BankEngine {
 public:
  explicit CpuBankEngine(Isa isa) : isa_(isa), kernels_(bank_kernels(isa)) {}
  [[nodiscard]] const char* name() const override { return estimators::name(isa_); }
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    return ::operator new (bytes, std::align_val_t{kTileBytes}, std::nothrow);
  }
  void release(void* memory) override { ::operator delete (memory, std::align_val_t{kTileBytes}); }
  [[nodiscard]] Status step(const BankWork& work) override {
    kernels_.step(work);
    return {};
  }
  [[nodiscard]] Status look(const BankLook& look) override {
    kernels_.look(look);
    return {};
  }

 private:
  Isa isa_;
  const BankKernels& kernels_;
};

}  // namespace

std::unique_ptr<BankEngine> cpu_bank_engine(Isa isa) {
  return std::make_unique<CpuBankEngine>(isa);
}

}  // namespace laird::estimators
