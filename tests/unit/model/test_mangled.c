/*
 * Names of C++ symbols: as c++filt writes them, without result and parameters, and any text.
 */
#include "model/model.h"
#include "support.h"

static void reads_as(const char *symbol, const char *name)
{
    char read[MANGLED_MAX];
    size_t size = mangled_read(text_of(symbol), read);
    if (size != strlen(name) || memcmp(read, name, size) != 0)
        fail_msg("%s\nreads as %.*s\nshould be %s", symbol, (int)size, read, name);
}

TEST(symbols_of_kernels_become_names)
{
    reads_as("_Z3addPfS_i", "add");
    reads_as("_ZN2at6native3fooIbEEvT_", "at::native::foo<bool>");
    reads_as("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0ELb0ELb1ELi1EEEvPT0_PT_"
             "PfS4_S4_S4_diiiiiiib",
             "aiter::add_rmsnorm_quant_kernel<__bf16, __bf16, 256, 16, false, false, true, 1>");
    reads_as("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPc"
             "Lm3EEEEviT0_T1_",
             "at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
             "std::array<char*, 3ul>>");
    reads_as("_ZN12_GLOBAL__N_14copyIKfPKcEEvv",
             "(anonymous namespace)::copy<float const, char const*>");
    reads_as("_Z4scanILin1ELj7EEvv", "scan<-1, 7u>");
    reads_as("_ZN2ck6kernelILNS_4ModeE2EJNS_1AENS_1BEEEEvDpT0_",
             "ck::kernel<(ck::Mode)2, ck::A, ck::B>");
    reads_as("_Z1fI1AIS0_IfEA4_iEEvv", "f<A<A<float>, int [4]>>");
    reads_as("_ZNSt6vectorIfSaIfEE4fillEv", "std::vector<float, std::allocator<float>>::fill");
}

TEST(what_is_not_understood_is_left_out)
{
    reads_as(
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2"
        "_ES3_S5_EEEEvPS3_PS4_i",
        "sgl_hip::activation::act_and_mul_kernel<__hip_bfloat16, …>");
    reads_as("_Z1fIXadL_Z1gvEEEvv", "f<…>");
    reads_as("kernel", "");
    reads_as("_Z", "");
    reads_as("_Zxx", "");
    reads_as("_ZN3fo", "");
    reads_as("_Z99999999999999999999a", "");
}

/* Each argument is twice the one before it: 2 to the power of 60 names, if nothing limited them. */
TEST(symbols_that_repeat_themselves_end_soon)
{
    char symbol[512] = "_Z1fI1AIiiE", read[MANGLED_MAX];
    for (int i = 1; i < 60; i++) {
        char more[16];
        snprintf(more, sizeof more, "S%c_I", i < 10 ? '0' + i : 'A' + i - 10);
        strcat(symbol, i < 36 ? more : "");
        strcat(symbol, i < 36 ? "S_S_E" : "");
    }
    size_t size = mangled_read(text_of(symbol), read);
    assert_true(size > 900 && size <= MANGLED_MAX);
    char *deep = malloc(100003);
    memcpy(deep, "_Z1f", 4);
    for (size_t i = 4; i < 100000; i += 4)
        memcpy(deep + i, "I1AI", 4);
    assert_true(mangled_read((struct text){deep, 100000}, read) <= MANGLED_MAX);
    free(deep);
}

/* Real symbols with bytes changed, cut and repeated, in blocks of exactly their size. */
TEST(any_text_is_read_within_its_bounds)
{
    static const char *const seeds[] = {
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
        "addIfEESt5arrayIPcLm3EEEEv",
        "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_"
        "40BlockFmhaBatchPrefill"
        "PipelineQRKSVSAsyncINS_8sequenceIJLi128ELi128EEEENS5_IJLi4ELi1ELi1EEEES7_Lb1EEELb1EEE",
        "_Z1fI1AIS0_IfEA4_iEEvv"};
    static const char letters[] = "SNIJELKPRAZ_0123456789tfi";
    struct rng rng = {7};
    for (int round = 0; round < 50000; round++) {
        const char *seed = seeds[rng_below(&rng, COUNT_OF(seeds))];
        char text[512], read[MANGLED_MAX];
        size_t size = 2 + rng_below(&rng, strlen(seed) - 1);
        memcpy(text, seed, size);
        for (size_t changes = rng_below(&rng, 6); changes > 0; changes--)
            text[2 + rng_below(&rng, size - 1)] = letters[rng_below(&rng, sizeof letters - 1)];
        char *exact = exact_copy(text, size);
        memset(read, '#', sizeof read);
        size_t written = mangled_read((struct text){exact, size}, read);
        free(exact);
        assert_true(written <= MANGLED_MAX && !memchr(read, '\0', written));
        assert_true(written == sizeof read || read[sizeof read - 1] == '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_of_kernels_become_names),
        cmocka_unit_test(what_is_not_understood_is_left_out),
        cmocka_unit_test(symbols_that_repeat_themselves_end_soon),
        cmocka_unit_test(any_text_is_read_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
