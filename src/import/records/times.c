/*
 * Records: ranges of times, and lanes by key.
 */
#include "import/records/records.h"

enum { SAMPLE_SIZE = 1023 };
static const int64_t MAX_DISTANCE_NS = (int64_t)1 << 52;
/* Later times (than the year 2000) count from 1970. */
static const int64_t EPOCH_TIMES_FROM_NS = 946684800LL * 1000000000;

void span_sample(struct time_span *span, int64_t time_ns)
{
    if (span->sample.count < SAMPLE_SIZE)
        *array_push(&span->sample) = time_ns;
}

static bool time_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const int64_t *)a < *(const int64_t *)b;
}

void span_settle(struct time_span *span)
{
    size_t count = span->sample.count;
    span->first_ns = INT64_MAX;
    span->last_ns = INT64_MIN;
    if (count == 0)
        return;
    sort_items(span->sample.items, count, sizeof *span->sample.items, time_before, NULL);
    span->anchor_ns = span->sample.items[count / 2];
}

int64_t span_near(struct time_span *span, int64_t time_ns)
{
    int64_t distance = sub_saturated(time_ns, span->anchor_ns);
    if (distance >= -MAX_DISTANCE_NS && distance <= MAX_DISTANCE_NS)
        return time_ns;
    span->far++;
    return add_saturated(span->anchor_ns, distance < 0 ? -MAX_DISTANCE_NS : MAX_DISTANCE_NS);
}

void span_add(struct time_span *span, int64_t start_ns, int64_t end_ns)
{
    span->first_ns = start_ns < span->first_ns ? start_ns : span->first_ns;
    span->last_ns = end_ns > span->last_ns ? end_ns : span->last_ns;
}

void span_set_host(const struct time_span *span, struct host *host)
{
    if (span->first_ns > span->last_ns || span->first_ns < EPOCH_TIMES_FROM_NS)
        return;
    host->start_epoch_ns = span->first_ns;
    host->stop_epoch_ns = span->last_ns;
}

void span_messages(const struct time_span *span, struct catalog *catalog, uint32_t file)
{
    if (span->far > 0)
        import_message(catalog, file, false,
                       "%llu timestamp%s more than 52 days away from the others and clamped",
                       (unsigned long long)span->far, span->far == 1 ? " is" : "s are");
    if (span->timeless > 0)
        import_message(catalog, file, false, "%llu event%s no timestamp; shown at the start",
                       (unsigned long long)span->timeless, span->timeless == 1 ? " has" : "s have");
}

void span_free(struct time_span *span)
{
    array_free(&span->sample);
}

void lane_table_init(struct lane_table *table)
{
    intern_init(&table->keys);
    *array_push(&table->tracks) = TRACK_NONE;
}

void lane_table_free(struct lane_table *table)
{
    intern_free(&table->keys);
    array_free(&table->tracks);
}

uint32_t lane_table_find(const struct lane_table *table, const void *key, size_t size)
{
    uint32_t number = intern_find(&table->keys, (struct text){key, size});
    return number == INTERN_NONE ? TRACK_NONE : table->tracks.items[number];
}

void lane_table_add(struct lane_table *table, const void *key, size_t size, uint32_t track)
{
    intern_add(&table->keys, (struct text){key, size});
    *array_push(&table->tracks) = track;
}
