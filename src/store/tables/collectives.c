/*
 * Names of collectives and of types, and what the text of an HLO instruction says of a collective.
 */
#include "store/tables/collectives.h"

#include <ctype.h>

/* Words of names without '-', '_' and capitals; longer ones first. */
static const struct {
    const char *word, *operation;
} operations[] = {
    {"raggedalltoall", "alltoall"},
    {"alltoall", "alltoall"},
    {"allreduce", "allreduce"},
    {"allgather", "allgather"},
    {"reducescatter", "reducescatter"},
    {"collectivepermute", "permute"},
    {"collectivebroadcast", "broadcast"},
    /* Kernels that are named after what they do on a device: all-reduces of vLLM and SGLang, and
     * what sends tokens to experts and back. */
    {"crossdevicereduce", "allreduce"},
    {"quickreduce", "allreduce"},
    {"dispatch", "alltoall"},
    {"combine", "alltoall"},
    {"sendrecv", "sendrecv"},
    {"broadcast", "broadcast"},
    {"barrier", "barrier"},
    {"scatter", "scatter"},
    {"gather", "gather"},
    {"reduce", "reduce"},
    {"permute", "permute"},
    {"send", "send"},
    {"recv", "recv"},
};

struct text collective_operation(struct text name, char buffer[static OPERATION_SIZE])
{
    char plain[256];
    size_t size = 0;
    for (size_t i = 0; i < name.size && size + 1 < sizeof plain; i++)
        if (isalnum((unsigned char)name.data[i]))
            plain[size++] = (char)tolower((unsigned char)name.data[i]);
    plain[size] = '\0';
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strstr(plain, operations[i].word))
            return text_of(operations[i].operation);
    size = name.size < OPERATION_SIZE ? name.size : OPERATION_SIZE;
    for (size_t i = 0; i < size; i++)
        buffer[i] = (char)tolower((unsigned char)name.data[i]);
    return (struct text){buffer, text_utf8_prefix(buffer, size)};
}

/* PyTorch's names, then XLA's. Matched by prefix, so the longer of two comes first ("Float8"
 * before "Float"). */
int64_t element_bytes(struct text type)
{
    static const struct {
        const char *prefix;
        int64_t bytes;
    } types[] = {
        {"ComplexDouble", 16},
        {"ComplexFloat", 8},
        {"Double", 8},
        {"Long", 8},
        {"UInt64", 8},
        {"Float8", 1},
        {"Float", 4},
        {"Int", 4},
        {"UInt32", 4},
        {"BFloat16", 2},
        {"Half", 2},
        {"Short", 2},
        {"UInt16", 2},
        {"Byte", 1},
        {"Char", 1},
        {"Bool", 1},
        {"c128", 16},
        {"c64", 8},
        {"f64", 8},
        {"s64", 8},
        {"u64", 8},
        {"f32", 4},
        {"s32", 4},
        {"u32", 4},
        {"bf16", 2},
        {"f16", 2},
        {"s16", 2},
        {"u16", 2},
        {"f8", 1},
        {"s8", 1},
        {"u8", 1},
        {"pred", 1},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_starts(type, text_of(types[i].prefix)))
            return types[i].bytes;
    return 0;
}

/* The value of an attribute, which ends at a comma outside of brackets. */
static struct text attribute(struct text expression, struct text key)
{
    for (size_t at = 0; at + key.size <= expression.size; at++) {
        if (memcmp(expression.data + at, key.data, key.size) != 0)
            continue;
        size_t first = at + key.size, end = first;
        int depth = 0;
        for (; end < expression.size; end++) {
            char c = expression.data[end];
            if (c == ',' && depth == 0)
                break;
            depth += (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
        }
        return (struct text){expression.data + first, end - first};
    }
    return (struct text){0};
}

struct text hlo_groups(struct text expression)
{
    struct text groups = attribute(expression, TEXT("replica_groups="));
    return groups.size > 0 ? groups : attribute(expression, TEXT("source_target_pairs="));
}

/* A number at a place; false if there is none. */
static bool number_at(struct text text, size_t *at, int64_t *number)
{
    enum { MAX_DIGITS = 18 };
    size_t first = *at;
    *number = 0;
    while (*at < text.size && text.data[*at] >= '0' && text.data[*at] <= '9' &&
           *at - first < MAX_DIGITS)
        *number = *number * 10 + (text.data[(*at)++] - '0');
    return *at > first;
}

/* "{{0,1},{2,3}}" or "[2,2]<=[4]": groups by ranks of a group. */
int64_t hlo_group_size(struct text groups)
{
    int64_t number, size = NOT_KNOWN, members = 0;
    size_t at = 1;
    if (groups.size > 2 && groups.data[0] == '[') {
        if (!number_at(groups, &at, &number) || at >= groups.size || groups.data[at++] != ',' ||
            !number_at(groups, &at, &size))
            return NOT_KNOWN;
        return size;
    }
    while (at < groups.size) {
        if (number_at(groups, &at, &number)) {
            members++;
            continue;
        }
        if (groups.data[at++] != '}' || members == 0)
            continue;
        if (size != NOT_KNOWN && size != members)
            return NOT_KNOWN;
        size = members;
        members = 0;
    }
    return size;
}

/* Of "{{0,1},{2,3}}", the braces of the group that has the number. */
static bool listed_group(struct text groups, int64_t device, struct output *out)
{
    size_t first = 0;
    bool is_own = false;
    for (size_t at = 1; at < groups.size;) {
        int64_t number;
        if (number_at(groups, &at, &number)) {
            is_own |= number == device;
            continue;
        }
        if (groups.data[at] == '{') {
            first = at;
            is_own = false;
        }
        if (groups.data[at++] == '}' && first > 0 && is_own) {
            output_write(out, groups.data + first, at - first);
            return true;
        }
    }
    return false;
}

enum { MAX_DIMENSIONS = 8, SHOWN_MEMBERS = 64 };

/* Devices in order, in a box of sizes whose dimensions are then reordered: "[4,2]T(1,0)". */
struct device_box {
    size_t count;
    int64_t sizes[MAX_DIMENSIONS];
    int64_t order[MAX_DIMENSIONS];
};

/* Numbers between two brackets. */
static size_t numbers_at(struct text text, size_t *at, int64_t numbers[static MAX_DIMENSIONS])
{
    size_t count = 0;
    for ((*at)++; *at < text.size && count < MAX_DIMENSIONS; (*at)++) {
        if (!number_at(text, at, &numbers[count]))
            return 0;
        count++;
        if (*at >= text.size || text.data[*at] != ',')
            break;
    }
    if (*at >= text.size || (text.data[*at] != ']' && text.data[*at] != ')'))
        return 0;
    (*at)++;
    return count;
}

/* XLA's short form of replica groups: "[groups,members]<=[sizes]T(order)". Input is not
 * trusted: the order must be a permutation and sizes must not overflow. */
static bool read_box(struct text groups, int64_t *members, struct device_box *box)
{
    int64_t shape[MAX_DIMENSIONS];
    size_t at = 0;
    if (numbers_at(groups, &at, shape) != 2 || at + 2 >= groups.size ||
        memcmp(groups.data + at, "<=", 2) != 0 || groups.data[at + 2] != '[')
        return false;
    at += 2;
    *members = shape[1];
    box->count = numbers_at(groups, &at, box->sizes);
    int64_t devices = 1, seen = 0;
    for (size_t i = 0; i < box->count; i++) {
        box->order[i] = (int64_t)i;
        if (box->sizes[i] <= 0 || __builtin_mul_overflow(devices, box->sizes[i], &devices))
            return false;
    }
    if (at + 1 < groups.size && groups.data[at] == 'T') {
        at++;
        if (numbers_at(groups, &at, box->order) != box->count)
            return false;
    }
    for (size_t i = 0; i < box->count; i++)
        if (box->order[i] >= (int64_t)box->count || (seen >> box->order[i] & 1))
            return false;
        else
            seen |= (int64_t)1 << box->order[i];
    return box->count > 0 && *members > 0 && devices % *members == 0;
}

/* Between the number of a device and its place after reordering. */
static int64_t box_place(const struct device_box *box, int64_t device)
{
    int64_t at[MAX_DIMENSIONS], place = 0;
    for (size_t i = box->count; i > 0; i--) {
        at[i - 1] = device % box->sizes[i - 1];
        device /= box->sizes[i - 1];
    }
    for (size_t i = 0; i < box->count; i++)
        place = place * box->sizes[box->order[i]] + at[box->order[i]];
    return device > 0 ? NOT_KNOWN : place;
}

static int64_t box_device(const struct device_box *box, int64_t place)
{
    int64_t at[MAX_DIMENSIONS], device = 0;
    for (size_t i = box->count; i > 0; i--) {
        at[box->order[i - 1]] = place % box->sizes[box->order[i - 1]];
        place /= box->sizes[box->order[i - 1]];
    }
    for (size_t i = 0; i < box->count; i++)
        device = device * box->sizes[i] + at[i];
    return device;
}

bool hlo_own_group(struct text groups, int64_t device, struct output *out)
{
    struct device_box box;
    int64_t members;
    if (groups.size < 3 || device < 0)
        return false;
    if (groups.data[0] != '[')
        return listed_group(groups, device, out);
    int64_t place = read_box(groups, &members, &box) ? box_place(&box, device) : NOT_KNOWN;
    if (place == NOT_KNOWN)
        return false;
    int64_t first = place - place % members;
    for (int64_t i = 0; i < members && i < SHOWN_MEMBERS; i++)
        output_format(out, "%c%lld", i ? ',' : '{', (long long)box_device(&box, first + i));
    if (members > SHOWN_MEMBERS)
        output_format(out, ",...,%lld", (long long)box_device(&box, first + members - 1));
    output_char(out, '}');
    return true;
}

/* The place after the bracket that ends what one begins. */
static size_t end_of_layout(struct text text, size_t at)
{
    while (at < text.size && text.data[at] != '}')
        at++;
    return at < text.size ? at + 1 : at;
}

/* Results may be tuples, so all shapes before the opcode are summed; `type` points into the
 * expression, at the last one. */
int64_t hlo_result_bytes(struct text expression, struct text *type)
{
    size_t at = 0;
    int64_t total = 0;
    *type = (struct text){0};
    while (at < expression.size && expression.data[at] != '=')
        at++;
    /* Shapes: a type and sizes in brackets; the opcode begins the operands. */
    for (at++; at < expression.size; at++) {
        while (at < expression.size && expression.data[at] == '{') /* a layout */
            at = end_of_layout(expression, at);
        size_t first = at;
        while (at < expression.size && isalnum((unsigned char)expression.data[at]))
            at++;
        if (at > first && at < expression.size && expression.data[at] == '(')
            break;
        if (at == first || at >= expression.size || expression.data[at] != '[')
            continue;
        struct text name = {expression.data + first, at - first};
        int64_t bytes = element_bytes(name), size;
        for (at++; at < expression.size && expression.data[at] != ']';)
            if (!number_at(expression, &at, &size))
                at++;
            else if (__builtin_mul_overflow(bytes, size, &bytes))
                return NOT_KNOWN;
        if (bytes > 0)
            *type = name;
        total = add_saturated(total, bytes);
    }
    return total > 0 ? total : NOT_KNOWN;
}
