// What this processor and its system can run. The compilers' own question, __builtin_cpu_supports, needs a part of
// their runtime that not every one of them links.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cladify {

#if defined(__x86_64__)
namespace cpu {

struct Leaf {
    std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

// All zero where the processor has no such leaf.
inline Leaf leaf(std::uint32_t number) {
    Leaf found;
    __get_cpuid_count(number, 0, &found.a, &found.b, &found.c, &found.d);
    return found;
}

constexpr bool all(std::uint32_t flags, std::uint32_t wanted) { return (flags & wanted) == wanted; }

// Whether the system saves these registers when it switches threads: the bits of XCR0.
inline bool saves(std::uint32_t registers) {
    if (!all(leaf(1).c, bit_OSXSAVE)) return false;
    std::uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return all(low, registers);
}

constexpr std::uint32_t kAvxRegisters = 0x6;      // XMM and YMM
constexpr std::uint32_t kAvx512Registers = 0xe6;  // those, masks and ZMM
constexpr std::uint32_t kLzcnt = 1U << 5;         // of the extended leaf; compilers have different names for it

}  // namespace cpu

// Whether what is built for x86-64-v3 runs here.
inline bool supports_v3() {
    return cpu::all(cpu::leaf(1).c, bit_FMA | bit_MOVBE | bit_AVX | bit_F16C) &&
           cpu::all(cpu::leaf(7).b, bit_BMI | bit_AVX2 | bit_BMI2) && cpu::all(cpu::leaf(0x80000001).c, cpu::kLzcnt) &&
           cpu::saves(cpu::kAvxRegisters);
}

// Whether it has products of int8 in registers of 512 bits.
inline bool supports_vnni() {
    return cpu::all(cpu::leaf(7).b, bit_AVX512F | bit_AVX512BW) && cpu::all(cpu::leaf(7).c, bit_AVX512VNNI) &&
           cpu::saves(cpu::kAvx512Registers);
}
#else
inline bool supports_v3() { return false; }
inline bool supports_vnni() { return false; }
#endif

}  // namespace cladify
