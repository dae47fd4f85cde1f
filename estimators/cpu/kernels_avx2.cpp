#define LAIRD_KERNEL_NAME kernels_avx2
#define LAIRD_BANK_KERNEL_NAME kernels_avx2_bank
#define LAIRD_VECTOR_BYTES 32
#include "estimators/cpu/kernels_body.hpp"
