#include "estimators/cuda/plugin.cu"
