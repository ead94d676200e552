/*
 * Roles of event types, from tables of categories and names.
 */
#include "model/roles.h"

/* Categories of torch.profiler, including those of its first versions. */
static const struct {
    const char *category;
    enum type_role role;
} categories[] = {
    {"cpu_op", TYPE_OPERATOR},   {"Operator", TYPE_OPERATOR}, {"user_annotation", TYPE_ANNOTATION},
    {"kernel", TYPE_KERNEL},     {"Kernel", TYPE_KERNEL},     {"gpu_memcpy", TYPE_COPY},
    {"Memcpy", TYPE_COPY},       {"gpu_memset", TYPE_SET},    {"Memset", TYPE_SET},
    {"Trace", TYPE_CAPTURE}, /* Kineto's "PyTorch Profiler (0)": from its start to its end */
    {"overhead", TYPE_PROFILER},
};

/* Names of events without a category. */
static const char *const capture_marks[] = {"Iteration Start: PyTorch Profiler",
                                            "Record Window End"};

bool step_number(struct text name, int64_t *number)
{
    enum { MAX_DIGITS = 18 };
    static const struct text prefix = {"ProfilerStep#", 13};
    if (!text_starts(name, prefix) || name.size == prefix.size ||
        name.size > prefix.size + MAX_DIGITS)
        return false;
    *number = 0;
    for (size_t i = prefix.size; i < name.size; i++) {
        if (name.data[i] < '0' || name.data[i] > '9')
            return false;
        *number = *number * 10 + (name.data[i] - '0');
    }
    return true;
}

static enum type_role role_of_category(struct text category, struct text name)
{
    if (text_equal(category, TEXT("python_function")))
        return text_starts(name, TEXT("nn.Module: ")) ? TYPE_MODULE : TYPE_OTHER;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (text_equal(category, text_of(categories[i].category)))
            return categories[i].role;
    return TYPE_OTHER;
}

/* JAX's functions as its Python tracer names them, "$profiler.py:271 stop_trace". */
static bool is_of_jax_profiler(struct text name)
{
    return text_starts(name, TEXT("$profiler.py:")) &&
           (text_ends(name, TEXT(" start_trace")) || text_ends(name, TEXT(" stop_trace")));
}

static enum type_role role_of_name(struct text name)
{
    if (is_of_jax_profiler(name))
        return TYPE_PROFILER;
    for (size_t i = 0; i < sizeof capture_marks / sizeof *capture_marks; i++)
        if (text_equal(name, text_of(capture_marks[i])))
            return TYPE_CAPTURE;
    return TYPE_OTHER;
}

struct text type_role_name(enum type_role role)
{
    static const char *const names[] = {
        [TYPE_OTHER] = "other",    [TYPE_OPERATOR] = "operator", [TYPE_ANNOTATION] = "annotation",
        [TYPE_MODULE] = "module",  [TYPE_STEP] = "step",         [TYPE_KERNEL] = "kernel",
        [TYPE_COPY] = "copy",      [TYPE_SET] = "set",           [TYPE_PROFILER] = "profiler",
        [TYPE_CAPTURE] = "capture"};
    return text_of(names[role]);
}

uint8_t *roles_of_types(const struct catalog *catalog)
{
    uint8_t *roles = mem_zeroed(catalog->types.count, sizeof *roles);
    for (size_t i = 0; i < catalog->types.count; i++) {
        const struct event_type *type = &catalog->types.items[i];
        const struct arg *category = catalog_arg(catalog, &type->args, TEXT("cat"));
        struct text name = catalog_text(catalog, type->name);
        int64_t number;
        enum type_role role =
            category ? role_of_category(arg_text(catalog, category), name) : role_of_name(name);
        if (role <= TYPE_ANNOTATION && step_number(name, &number))
            role = TYPE_STEP;
        roles[i] = (uint8_t)role;
    }
    return roles;
}
