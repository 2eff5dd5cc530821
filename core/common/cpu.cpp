// Which instruction set this build needs and this processor has.
#include "common/bind.hpp"

namespace cladify {

namespace {
bool supports_v3() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}
}  // namespace

void bind_cpu(nb::module_& m) { m.def("supports_v3", &supports_v3); }

}  // namespace cladify
