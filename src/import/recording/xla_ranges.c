/*
 * XLA's ranges as a list of moments at which they change, sorted by lane and time.
 */
#include "import/recording/xla_ranges.h"

enum { MOST_OPEN = 4096 }; /* with more, the oldest will not be closed */

void xla_ranges_free(struct xla_ranges *ranges)
{
    array_free(&ranges->moments);
    array_free(&ranges->open);
    array_free(&ranges->forwards);
    idmap_free(&ranges->forward_by_sequence);
}

static bool has_prefix(struct text name, struct text prefix)
{
    return name.size > prefix.size && memcmp(name.data, prefix.data, prefix.size) == 0;
}

/* The innermost open ranges of a lane. */
static void add_moment(struct xla_ranges *ranges, uint32_t lane, int64_t time_ns)
{
    struct xla_moment moment = {.lane = lane, .time_ns = time_ns, .sequence = -1};
    const struct xla_open_range *range;
    array_each (range, &ranges->open)
        if (range->lane == lane) {
            if (range->kind == XLA_MODULE)
                moment.module = range->string;
            else if (range->kind == XLA_OPERATION)
                moment.operation = range->string;
            else if (range->source.file)
                moment.source = range->source;
            else if (range->sequence >= 0)
                moment.sequence = range->sequence;
        }
    *array_push(&ranges->moments) = moment;
}

/* Whether it changed anything. */
static bool close_range(struct xla_ranges *ranges, uint32_t lane, uint32_t string)
{
    for (size_t i = ranges->open.count; i > 0; i--) {
        struct xla_open_range *range = &ranges->open.items[i - 1];
        if (range->lane == lane && range->string == string) {
            bool is_told =
                range->kind != TORCH_OPERATOR || range->source.file || range->sequence >= 0;
            memmove(range, range + 1, (ranges->open.count - i) * sizeof *range);
            ranges->open.count--;
            return is_told;
        }
    }
    return false;
}

static void open_range(struct xla_ranges *ranges, const struct xla_open_range *range)
{
    if (ranges->open.count == MOST_OPEN) {
        ranges->open.count /= 2;
        memmove(ranges->open.items, ranges->open.items + MOST_OPEN / 2,
                ranges->open.count * sizeof *ranges->open.items);
    }
    *array_push(&ranges->open) = *range;
}

static struct source_line source_of(const struct xla_ranges *ranges, uint32_t lane)
{
    struct source_line source = {0};
    const struct xla_open_range *range;
    array_each (range, &ranges->open)
        if (range->lane == lane && range->source.file)
            source = range->source;
    return source;
}

/* Each thread counts separately: a number used by two of them identifies neither. */
static void note_forward(struct xla_ranges *ranges, uint32_t lane, int64_t sequence,
                         struct source_line source)
{
    uint32_t known = idmap_get(&ranges->forward_by_sequence, (uint64_t)sequence);
    if (known == IDMAP_NONE) {
        idmap_put(&ranges->forward_by_sequence, (uint64_t)sequence,
                  (uint32_t)ranges->forwards.count);
        *array_push(&ranges->forwards) = (struct torch_forward){lane, source};
    } else if (ranges->forwards.items[known].lane != lane)
        ranges->forwards.items[known].source.file = 0;
}

/* Work called from Python has a source, possibly an outer operator's; the backward pass has
 * none. */
void torch_ranges_start(struct xla_ranges *ranges, uint32_t lane, int64_t time_ns,
                        const struct torch_start *start)
{
    struct xla_open_range range = {lane, start->string, TORCH_OPERATOR, start->source, -1};
    struct source_line source = start->source.file ? start->source : source_of(ranges, lane);
    if (start->sequence >= 0 && source.file)
        note_forward(ranges, lane, start->sequence, source);
    else
        range.sequence = start->sequence;
    open_range(ranges, &range);
    if (range.source.file || range.sequence >= 0)
        add_moment(ranges, lane, time_ns);
}

void xla_ranges_add(struct xla_ranges *ranges, uint32_t lane, int64_t time_ns, uint32_t string,
                    struct text name, bool is_start)
{
    bool is_module = has_prefix(name, TEXT("XlaModule:#"));
    bool is_xla = is_module || has_prefix(name, TEXT("Thunk:#"));
    if (is_start && is_xla)
        open_range(ranges, &(struct xla_open_range){
                               lane, string, is_module ? XLA_MODULE : XLA_OPERATION, {0, 0}, -1});
    bool is_closed = !is_start && close_range(ranges, lane, string);
    if (is_xla || is_closed)
        add_moment(ranges, lane, time_ns);
}

static bool is_before(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct xla_moment *m = a, *n = b;
    return m->lane != n->lane ? m->lane < n->lane : m->time_ns < n->time_ns;
}

/* Moments of one time stay in order: the last of them counts. */
void xla_ranges_finish(struct xla_ranges *ranges)
{
    array_free(&ranges->open);
    sort_items(ranges->moments.items, ranges->moments.count, sizeof *ranges->moments.items,
               is_before, NULL);
}

struct xla_moment xla_ranges_at(const struct xla_ranges *ranges, uint32_t lane, int64_t time_ns)
{
    const struct xla_moment key = {.lane = lane, .time_ns = time_ns};
    size_t from = 0, to = ranges->moments.count;
    while (from < to) { /* the first later one */
        size_t middle = from + (to - from) / 2;
        if (!is_before(&key, &ranges->moments.items[middle], NULL))
            from = middle + 1;
        else
            to = middle;
    }
    if (from == 0 || ranges->moments.items[from - 1].lane != lane)
        return (struct xla_moment){0};
    struct xla_moment moment = ranges->moments.items[from - 1];
    uint32_t forward = moment.source.file || moment.sequence < 0
                           ? IDMAP_NONE
                           : idmap_get(&ranges->forward_by_sequence, (uint64_t)moment.sequence);
    if (forward != IDMAP_NONE)
        moment.source = ranges->forwards.items[forward].source;
    return moment;
}

/* Commas within brackets belong to the value. */
static const char *value_end(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end && *at != '#' && !(*at == ',' && depth <= 0); at++)
        depth +=
            (*at == '(' || *at == '[' || *at == '{') - (*at == ')' || *at == ']' || *at == '}');
    return at;
}

struct text xla_range_value(struct text range, const char *key)
{
    size_t size = strlen(key);
    const char *end = range.data + range.size;
    for (const char *at = range.data; at && (size_t)(end - at) > size;) {
        at = memmem(at, (size_t)(end - at), key, size);
        if (!at)
            break;
        bool is_start = at > range.data && (at[-1] == '#' || at[-1] == ',');
        at += size;
        if (!is_start)
            continue;
        return (struct text){at, (size_t)(value_end(at, end) - at)};
    }
    return TEXT("");
}
