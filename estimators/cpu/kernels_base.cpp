#define LAIRD_KERNEL_NAME kernels_base
#define LAIRD_BANK_KERNEL_NAME kernels_base_bank
#define LAIRD_VECTOR_BYTES 16
#include "estimators/cpu/kernels_body.hpp"
