#define LAIRD_KERNEL_NAME kernels_scalar
#define LAIRD_BANK_KERNEL_NAME kernels_scalar_bank
#define LAIRD_VECTOR_BYTES 0
#include "estimators/cpu/kernels_body.hpp"
