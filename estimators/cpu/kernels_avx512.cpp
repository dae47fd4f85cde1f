#define LAIRD_KERNEL_NAME kernels_avx512
#define LAIRD_BANK_KERNEL_NAME kernels_avx512_bank
#define LAIRD_VECTOR_BYTES 64
#include "estimators/cpu/kernels_body.hpp"
