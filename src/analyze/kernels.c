/*
 * What kernels are, from their names and their operations: the type of numbers they compute with,
 * and whether they use tensor cores. Names are those of cuBLAS, cuDNN, CUTLASS, rocBLAS and of C++
 * templates; they are looked at once for each event type.
 */
#include "analyze/passes.h"

enum { TRAITS_KNOWN = 1, TRAITS_MATRIX = 2, TRAITS_PRECISION_SHIFT = 2 };

/* A word in a name, in any case. */
struct word {
    const char *text; /* in lower case */
    uint8_t precision;
};

/* XProf's list, without the words that stand for convolutions on any core. */
static const char *const matrix_words[] = {"16816",
                                           "c1688",
                                           "h1688",
                                           "h884",
                                           "hmma",
                                           "i16832",
                                           "i8816",
                                           "s884",
                                           "s1688",
                                           "xmma_gemm",
                                           "xmma_implicit_gemm",
                                           "xmma_sparse",
                                           "xmma_warp",
                                           "tensorop",
                                           "nvjet_",
                                           "wgmma",
                                           "gmma",
                                           "_mfma",
                                           "imma",
                                           "qgmma",
                                           "flash_fwd",
                                           "flash_bwd",
                                           "fmha_",
                                           "cudnn_generated_fort_native_sdpa",
                                           "cijk_"};

/* The first that is in a name tells. */
static const struct word precision_words[] = {
    {"nvjet_sm90_t", PRECISION_16},  {"nvjet_sm90_h", PRECISION_16},
    {"nvjet_sm90_q", PRECISION_16},  {"nvjet_sm90_s", PRECISION_32},
    {"nvjet_sm100_t", PRECISION_16}, {"nvjet_sm100_h", PRECISION_16},
    {"nvjet_sm100_q", PRECISION_16}, {"nvjet_sm100_s", PRECISION_32},
    {"bfloat16", PRECISION_16},      {"bf16", PRECISION_16},
    {"half", PRECISION_16},          {"fp16", PRECISION_16},
    {"f16", PRECISION_16},           {"float8", PRECISION_16},
    {"e4m3", PRECISION_16},          {"e5m2", PRECISION_16},
    {"hgemm", PRECISION_16},         {"h1688", PRECISION_16},
    {"h884", PRECISION_16},          {"h16816", PRECISION_16},
    {"s16816gemm", PRECISION_16},    {"s884", PRECISION_16},
    {"_bljk_hb", PRECISION_16},      {"_hb_", PRECISION_16},
    {"_hhs_", PRECISION_16},         {"_bbs_", PRECISION_16},
    {"_bss_", PRECISION_16},         {"double", PRECISION_OTHER},
    {"dgemm", PRECISION_OTHER},      {"f64", PRECISION_OTHER},
    {"float", PRECISION_32},         {"fp32", PRECISION_32},
    {"tf32", PRECISION_32},          {"f32", PRECISION_32},
    {"sgemm", PRECISION_32},         {"s1688gemm", PRECISION_32},
};

static bool has(struct text name, const char *word)
{
    size_t size = strlen(word);
    for (size_t at = 0; at + size <= name.size; at++) {
        size_t same = 0;
        while (same < size) {
            char c = name.data[at + same];
            if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != word[same])
                break;
            same++;
        }
        if (same == size)
            return true;
    }
    return false;
}

static uint8_t traits_of(const struct analysis *analysis, uint32_t type)
{
    uint8_t traits = atomic_load_explicit(&analysis->kernel_traits[type], memory_order_relaxed);
    if (traits)
        return traits;
    struct text name = catalog_type_label(analysis->catalog, type);
    traits = TRAITS_KNOWN;
    for (size_t i = 0; i < sizeof matrix_words / sizeof *matrix_words; i++)
        if (has(name, matrix_words[i])) {
            traits |= TRAITS_MATRIX;
            break;
        }
    for (size_t i = 0; i < sizeof precision_words / sizeof *precision_words; i++)
        if (has(name, precision_words[i].text)) {
            traits |= (uint8_t)(precision_words[i].precision << TRAITS_PRECISION_SHIFT);
            break;
        }
    atomic_store_explicit(&analysis->kernel_traits[type], traits, memory_order_relaxed);
    return traits;
}

enum precision precision_of_type(struct text type)
{
    if (text_starts(type, TEXT("bf16")) || text_starts(type, TEXT("f16")) ||
        text_starts(type, TEXT("f8")) || text_starts(type, TEXT("f4")))
        return PRECISION_16;
    return text_equal(type, TEXT("f32")) || text_equal(type, TEXT("tf32")) ? PRECISION_32
           : type.size > 0                                                 ? PRECISION_OTHER
                                                                           : PRECISION_UNKNOWN;
}

enum precision kernel_precision(const struct analysis *analysis, uint32_t type,
                                const struct operation *operation)
{
    if (operation && operation->compute_type)
        return precision_of_type(catalog_text(analysis->catalog, operation->compute_type));
    return (enum precision)(traits_of(analysis, type) >> TRAITS_PRECISION_SHIFT);
}

/* Kernels that XLA generates are named after their operation alone: those with products of matrices
 * use the units for them, for all types that these have. */
bool kernel_uses_matrix_units(const struct analysis *analysis, uint32_t type,
                              const struct operation *operation)
{
    if (traits_of(analysis, type) & TRAITS_MATRIX)
        return true;
    if (!operation || !(operation->matrix_flops > 0) || !operation->compute_type)
        return false;
    enum precision precision =
        precision_of_type(catalog_text(analysis->catalog, operation->compute_type));
    struct text name = catalog_type_label(analysis->catalog, type);
    bool is_generated = has(name, "gemm_fusion") || has(name, "triton");
    return is_generated &&
           (precision == PRECISION_16 || precision == PRECISION_32 ||
            text_equal(catalog_text(analysis->catalog, operation->compute_type), TEXT("s8")));
}
