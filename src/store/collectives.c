/*
 * Names of collectives and of types, and what the text of an HLO instruction says of a collective.
 */
#include "store/collectives.h"

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

int64_t hlo_result_bytes(struct text expression, struct text *type)
{
    size_t at = 0;
    int64_t total = 0;
    *type = (struct text){0};
    while (at < expression.size && expression.data[at] != '=')
        at++;
    /* Shapes: a type and sizes in brackets; the opcode begins the operands. */
    for (at++; at < expression.size; at++) {
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
