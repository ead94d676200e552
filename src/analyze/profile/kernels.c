/*
 * What kernels are, from their names and their operations: the type of numbers they compute with,
 * and whether they use tensor cores. Names are looked at once for each event type.
 */
#include "analyze/profile/analysis_passes.h"

/* Of a type: whether it was looked at, precision, kind of work. */
enum {
    TRAITS_KNOWN = 1,
    TRAITS_COPY = 2, /* a copy or memset, in whatever direction */
    TRAITS_PRECISION_SHIFT = 2,
    TRAITS_PRECISION = 3,
    TRAITS_KIND_SHIFT = 4,
    TRAITS_KIND = 15,
};
static_assert((int)WORK_AROUND < 16, "a kind has four bits");

/* A word in a name, in any case. */
struct word {
    const char *text; /* in lower case */
    uint8_t precision;
};

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

bool is_product_category(struct text category)
{
    return has(category, "convolution") || has(category, "dot");
}

struct text type_in_expression(struct text expression, bool is_product)
{
    size_t at = 0, open = 0;
    while (at < expression.size && expression.data[at] != '=')
        at++;
    for (size_t i = at; is_product && i + 1 < expression.size && !open; i++)
        if (expression.data[i] == '(' && i > at + 2 && expression.data[i - 1] >= 'a' &&
            expression.data[i - 1] <= 'z')
            open = i + 1;
    size_t first = open ? open : at + 1;
    while (first < expression.size &&
           (expression.data[first] == ' ' || expression.data[first] == '('))
        first++;
    size_t end = first;
    while (end < expression.size && ((expression.data[end] >= 'a' && expression.data[end] <= 'z') ||
                                     (expression.data[end] >= '0' && expression.data[end] <= '9')))
        end++;
    bool is_type = end < expression.size && expression.data[end] == '[' && end > first;
    return is_type ? (struct text){expression.data + first, end - first} : (struct text){0};
}

/* By the first that is at the start of a name. */
static const struct {
    const char *prefix;
    enum work_kind kind;
} copy_names[] = {
    {"MemcpyH2D", WORK_TO_DEVICE},   {"MemcpyHtoD", WORK_TO_DEVICE},
    {"Memcpy HtoD", WORK_TO_DEVICE}, {"CopyHostToDevice", WORK_TO_DEVICE},
    {"MemcpyD2H", WORK_TO_HOST},     {"MemcpyDtoH", WORK_TO_HOST},
    {"Memcpy DtoH", WORK_TO_HOST},   {"CopyDeviceToHost", WORK_TO_HOST},
    {"MemcpyD2D", WORK_BETWEEN},     {"MemcpyDtoD", WORK_BETWEEN},
    {"Memcpy DtoD", WORK_BETWEEN},   {"CopyDeviceToDevice", WORK_BETWEEN},
    {"MemcpyP2P", WORK_BETWEEN},     {"MemcpyPtoP", WORK_BETWEEN},
    {"Memcpy PtoP", WORK_BETWEEN},   {"MemcpyH2H", WORK_OTHER},
    {"MemcpyHtoH", WORK_OTHER},      {"Memcpy HtoH", WORK_OTHER},
    {"MemcpyOther", WORK_OTHER},     {"infeed", WORK_INFEED},
    {"outfeed", WORK_OUTFEED},       {"host send", WORK_TO_HOST},
    {"host recv", WORK_TO_DEVICE},   {"while", WORK_AROUND},
    {"conditional", WORK_AROUND},    {"call", WORK_AROUND},
};

static bool kind_of_copy(struct text name, enum work_kind *kind)
{
    for (size_t i = 0; i < sizeof copy_names / sizeof *copy_names; i++)
        if (text_starts(name, text_of(copy_names[i].prefix))) {
            *kind = copy_names[i].kind;
            return true;
        }
    return false;
}

/* The wait for a copy of a TPU: memory space 5 is the host's. */
static enum work_kind kind_of_wait(struct text expression)
{
    size_t call = 0;
    while (call < expression.size && expression.data[call] != '=')
        call++;
    while (call < expression.size &&
           !text_starts((struct text){expression.data + call, expression.size - call},
                        TEXT("copy-done(")))
        call++;
    struct text result = {expression.data, call};
    struct text operand = {expression.data + call, expression.size - call};
    return has(result, "s(5)")    ? WORK_TO_HOST
           : has(operand, "s(5)") ? WORK_TO_DEVICE
                                  : WORK_BETWEEN;
}

/* WORK_KINDS: it computes, with numbers of its precision. */
static enum work_kind kind_of_type(const struct analysis *analysis, uint32_t type)
{
    const struct catalog *catalog = analysis->catalog;
    const struct event_type *at = &catalog->types.items[type];
    const struct arg *category = catalog_arg(catalog, &at->args, TEXT("hlo_category"));
    struct text name = category ? arg_text(catalog, category) : catalog_type_label(catalog, type);
    enum work_kind kind;
    if (analysis->device_class[type] == DEVICE_WAIT)
        return WORK_AROUND;
    if (analysis->device_class[type] == DEVICE_COMMUNICATION)
        return WORK_COLLECTIVES;
    if (text_starts(name, TEXT("copy-done")))
        return kind_of_wait(catalog_text(catalog, at->name));
    return kind_of_copy(name, &kind) ? kind : WORK_KINDS;
}

/* Of an HLO type, "bf16". */
static enum precision precision_of_type(struct text type)
{
    if (text_starts(type, TEXT("bf16")) || text_starts(type, TEXT("f16")) ||
        text_starts(type, TEXT("f8")) || text_starts(type, TEXT("f4")))
        return PRECISION_16;
    return text_equal(type, TEXT("f32")) || text_equal(type, TEXT("tf32")) ? PRECISION_32
           : type.size > 0                                                 ? PRECISION_OTHER
                                                                           : PRECISION_UNKNOWN;
}

static enum precision precision_of_name(const struct analysis *analysis, uint32_t type)
{
    const struct catalog *catalog = analysis->catalog;
    const struct event_type *at = &catalog->types.items[type];
    const struct arg *category = catalog_arg(catalog, &at->args, TEXT("hlo_category"));
    if (category)
        return precision_of_type(type_in_expression(
            catalog_text(catalog, at->name), is_product_category(arg_text(catalog, category))));
    struct text name = catalog_type_label(catalog, type);
    for (size_t i = 0; i < sizeof precision_words / sizeof *precision_words; i++)
        if (has(name, precision_words[i].text))
            return (enum precision)precision_words[i].precision;
    return PRECISION_UNKNOWN;
}

static uint16_t traits_of(const struct analysis *analysis, uint32_t type)
{
    uint16_t traits = atomic_load_explicit(&analysis->kernel_traits[type], memory_order_relaxed);
    if (traits)
        return traits;
    struct text name = catalog_type_label(analysis->catalog, type);
    traits = TRAITS_KNOWN;
    if (text_starts(name, TEXT("Memcpy")) || text_starts(name, TEXT("Memset")))
        traits |= TRAITS_COPY;
    traits |= (uint16_t)(precision_of_name(analysis, type) << TRAITS_PRECISION_SHIFT);
    traits |= (uint16_t)(kind_of_type(analysis, type) << TRAITS_KIND_SHIFT);
    atomic_store_explicit(&analysis->kernel_traits[type], traits, memory_order_relaxed);
    return traits;
}

enum precision kernel_precision(const struct analysis *analysis, uint32_t type,
                                const struct operation *operation)
{
    if (operation && operation->compute_type)
        return precision_of_type(catalog_text(analysis->catalog, operation->compute_type));
    return (enum precision)(traits_of(analysis, type) >> TRAITS_PRECISION_SHIFT & TRAITS_PRECISION);
}

enum work_kind kind_of_work(const struct analysis *analysis, uint32_t type,
                            const struct operation *operation)
{
    static const enum work_kind kinds[] = {[PRECISION_UNKNOWN] = WORK_COMPUTE_OTHER,
                                           [PRECISION_16] = WORK_COMPUTE_16,
                                           [PRECISION_32] = WORK_COMPUTE_32,
                                           [PRECISION_OTHER] = WORK_COMPUTE_OTHER};
    enum work_kind kind =
        (enum work_kind)(traits_of(analysis, type) >> TRAITS_KIND_SHIFT & TRAITS_KIND);
    return kind == WORK_KINDS ? kinds[kernel_precision(analysis, type, operation)] : kind;
}

enum rank_class rank_class_of(const struct analysis *analysis, uint32_t type)
{
    uint16_t traits = traits_of(analysis, type);
    enum work_kind kind = (enum work_kind)(traits >> TRAITS_KIND_SHIFT & TRAITS_KIND);
    if (kind == WORK_AROUND)
        return RANK_CLASSES;
    if (kind == WORK_COLLECTIVES)
        return RANK_COMMUNICATION;
    return kind != WORK_KINDS || (traits & TRAITS_COPY) ? RANK_COPY : RANK_COMPUTE;
}

bool is_kernel_type(const struct analysis *analysis, uint32_t type)
{
    enum rank_class class = rank_class_of(analysis, type);
    return class == RANK_COMPUTE || class == RANK_COMMUNICATION;
}

/* Kernels that XLA generates are named after their operation alone: those with products of matrices
 * use the units for them, for all types that these have. */
enum tensor_cores kernel_tensor_cores(const struct analysis *analysis, uint32_t type,
                                      const struct operation *operation)
{
    struct kernel_kind kind = analysis->kernel_kinds[type];
    if (kind.tensor_cores != TENSOR_CORES_UNKNOWN || kind.maker != MADE_BY_COMPILER || !operation ||
        isnan(operation->matrix_flops))
        return (enum tensor_cores)kind.tensor_cores;
    if (!(operation->matrix_flops > 0))
        return TENSOR_CORES_NO;
    struct text number = catalog_text(analysis->catalog, operation->compute_type);
    enum precision precision = precision_of_type(number);
    return precision == PRECISION_16 || precision == PRECISION_32 || text_equal(number, TEXT("s8"))
               ? TENSOR_CORES_YES
               : TENSOR_CORES_UNKNOWN;
}
