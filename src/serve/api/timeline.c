/*
 * GET tracks, and POST timeline: the items of a time window as binary columns that a browser reads
 * without parsing. docs/api.md has the layout byte by byte.
 */
#include "serve/api/handlers.h"

#include "model/model.h"
#include "serve/runs/hits.h"
#include "store/tables/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    SHARE_PIXELS = 20000, /* of all tracks of a share: one unit of parallel work */
    VERSION = 1,
    HEADER_SIZE = 64
};
#define RESPONSE_MAGIC "KYTL"
#define TOO_MUCH       "too many items; request fewer tracks or pixels"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "responses are written in host byte order");

static void put_time(struct json *json, const char *key, int64_t ps)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)ps);
    json_put_text(json, key, text_of(digits));
}

/* Drawing order: depth first, siblings sorted by sort_key, then by number. */
struct drawn {
    const struct timeline *timeline;
    uint32_t *first_child, *next_sibling; /* by track; lists end with TIMELINE_NONE */
    uint32_t first_root;
};

static int by_key(const void *a, const void *b, void *context)
{
    const struct timeline *timeline = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int64_t x = timeline_track_at(timeline, left)->sort_key;
    int64_t y = timeline_track_at(timeline, right)->sort_key;
    return x != y ? (x > y) - (x < y) : (left > right) - (left < right);
}

/* Iterative, as the depth of the tree comes from the capture. The caller frees the result, which
 * has every track that a root leads to exactly once. */
static uint32_t *drawing_order(const struct timeline *timeline)
{
    uint32_t count = timeline_track_count(timeline), placed = 0;
    uint32_t *sorted = mem_alloc((count + (size_t)1) * sizeof *sorted);
    uint32_t *order = mem_alloc((count + (size_t)1) * sizeof *order);
    struct drawn drawn = {.timeline = timeline, .first_root = TIMELINE_NONE};
    drawn.first_child = mem_alloc((count + (size_t)1) * sizeof *drawn.first_child);
    drawn.next_sibling = mem_alloc((count + (size_t)1) * sizeof *drawn.next_sibling);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = i;
        drawn.first_child[i] = TIMELINE_NONE;
    }
    qsort_r(sorted, count, sizeof *sorted, by_key, (void *)timeline);
    for (uint32_t i = count; i-- > 0;) { /* lists are built back to front */
        uint32_t parent = timeline_track_at(timeline, sorted[i])->parent;
        uint32_t *list = parent == TIMELINE_NONE ? &drawn.first_root : &drawn.first_child[parent];
        drawn.next_sibling[sorted[i]] = *list;
        *list = sorted[i];
    }
    for (uint32_t at = drawn.first_root; at != TIMELINE_NONE;) {
        order[placed++] = at;
        uint32_t next = drawn.first_child[at];
        while (next == TIMELINE_NONE && at != TIMELINE_NONE) {
            next = drawn.next_sibling[at];
            at = timeline_track_at(timeline, at)->parent;
        }
        at = next;
    }
    mem_free(sorted);
    mem_free(drawn.first_child);
    mem_free(drawn.next_sibling);
    return order;
}

static const char *level_name(uint32_t level)
{
    static const char *const names[] = {"instance", "process", "source", "lane"};
    return level < 4 ? names[level] : "lane";
}

static const char *role_name(const struct timeline_track *track)
{
    static const char *const sources[] = {"other", "host", "device"};
    static const char *const lanes[] = {"plain", "stream", "ops",    "modules",
                                        "steps", "async",  "counter"};
    if (track->level == TRACK_LANE)
        return track->role < sizeof lanes / sizeof *lanes ? lanes[track->role] : "plain";
    return track->role < 3 ? sources[track->role] : "other";
}

static void put_track(struct json *json, const struct timeline *timeline, uint32_t number)
{
    const struct timeline_track *track = timeline_track_at(timeline, number);
    json_open(json, '{');
    json_put_uint(json, "id", number);
    json_key(json, "parent");
    if (track->parent == TIMELINE_NONE)
        json_null(json);
    else
        json_uint(json, track->parent);
    json_put_text(json, "level", text_of(level_name(track->level)));
    json_put_text(json, "role", text_of(role_name(track)));
    json_put_text(json, "name", timeline_name_at(timeline, track->name));
    json_put_text(json, "table", timeline_name_at(timeline, track->table));
    json_key(json, "is_counter");
    json_bool(json, track->is_counter);
    json_put_uint(json, "rows", track->row_count);
    json_put_uint(json, "event_count", track->events);
    json_put_int(json, "sort_key", track->sort_key);
    json_close(json, '}');
}

/* The Unix time of time 0 from the summary; empty if unknown. */
static struct text start_epoch(struct text summary)
{
    struct json_reader in = json_read(summary);
    struct json_value key, value;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            break;
        if (text_equal(key.text, TEXT("start_epoch_ns")))
            return value.text;
    }
    return TEXT("");
}

static void put_epoch(struct json *json, const char *directory)
{
    struct file file = {0};
    struct error ignored;
    char *path = path_format("%s/%s", directory, SUMMARY_FILE);
    bool is_there = file_open(&file, path, &ignored);
    struct text epoch =
        is_there ? start_epoch((struct text){(const char *)file.data, file.size}) : TEXT("");
    json_key(json, "start_epoch_ns");
    if (epoch.size == 0 || text_equal(epoch, TEXT("null")))
        json_null(json);
    else
        json_text(json, epoch);
    if (is_there)
        file_close(&file);
    mem_free(path);
}

/* Tracks are sent in drawing order, so that clients need not sort; focus is where to look first. */
void get_tracks(struct request *request, struct reply *reply)
{
    struct opened *opened = request->subject->opened;
    struct timeline *timeline = opened_timeline(opened, reply);
    if (timeline) {
        int64_t from, to, focus_from, focus_to;
        uint32_t *order = drawing_order(timeline);
        struct json json = reply_json(reply);
        timeline_span(timeline, &from, &to);
        json_open(&json, '{');
        put_time(&json, "from", from);
        put_time(&json, "to", to);
        timeline_focus(timeline, &focus_from, &focus_to);
        put_time(&json, "focus_from", focus_from);
        put_time(&json, "focus_to", focus_to);
        put_epoch(&json, opened_directory(opened));
        json_key(&json, "tracks");
        json_open(&json, '[');
        for (uint32_t i = 0; i < timeline_track_count(timeline); i++)
            put_track(&json, timeline, order[i]);
        json_close(&json, ']');
        json_close(&json, '}');
        mem_free(order);
    }
}

/* State of a timeline request: each worker queries a share of the tracks. */
struct render {
    struct timeline *timeline;
    struct timeline_query query;
    struct timeline_result *answers; /* one per share */
    size_t shares;
    atomic_size_t found;  /* items of all shares so far */
    pthread_mutex_t lock; /* guards err */
    struct error err;
    size_t rows[2], items[2]; /* of slices and of counters */
    struct idmap name_numbers;
    ARRAY(uint32_t) names;
};

static bool query_share(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct render *render = context;
    struct timeline_query query = render->query;
    struct error err;
    size_t first = query.track_count * index / render->shares;
    query.tracks += first;
    query.only = query.only ? query.only + first : NULL;
    query.track_count = query.track_count * (index + 1) / render->shares - first;
    bool ok = timeline_query(render->timeline, &query, &render->answers[index], &err);
    size_t items = render->answers[index].items.count;
    if (ok && atomic_fetch_add(&render->found, items) + items <= TIMELINE_MAX_ITEMS)
        return true;
    if (ok)
        error_set(&err, TOO_MUCH);
    pthread_mutex_lock(&render->lock);
    render->err = err;
    pthread_mutex_unlock(&render->lock);
    return false;
}

/* The pool serves one request at a time; if it is busy, this thread runs all shares. */
static bool query_all(struct server *server, struct render *render)
{
    size_t tracks = render->query.track_count, few = 4 * (size_t)pool_workers(server->pool);
    size_t shares = tracks * render->query.width / SHARE_PIXELS + few;
    render->shares = tracks < shares ? tracks : shares;
    render->answers = mem_zeroed(render->shares + 1, sizeof *render->answers);
    bool ok = true;
    if (pthread_mutex_trylock(&server->pool_lock) == 0) {
        ok = pool_run(server->pool, render->shares, query_share, render);
        pthread_mutex_unlock(&server->pool_lock);
    } else {
        for (size_t i = 0; ok && i < render->shares; i++)
            ok = query_share(render, i, 0);
    }
    return ok;
}

static bool is_counter(const struct render *render, const struct timeline_row *row)
{
    return timeline_track_at(render->timeline, row->track)->is_counter;
}

static uint32_t name_number(struct render *render, uint32_t name)
{
    uint32_t number = idmap_get(&render->name_numbers, name);
    if (number == IDMAP_NONE) {
        number = (uint32_t)render->names.count;
        *array_push(&render->names) = name;
        idmap_put(&render->name_numbers, name, number);
    }
    return number;
}

/* Column pointers of slices or of counter samples. */
struct columns {
    double *start, *end, *id, *min, *max, *mean, *last;
    uint32_t *count, *name;
    float *busy;
};

static void put_items(struct render *render, const struct columns *columns, size_t at,
                      const struct timeline_item *items, size_t count, bool are_samples)
{
    int64_t from = render->query.from_ps;
    assert(columns->start && columns->end && columns->count);
    for (size_t i = 0; i < count; i++, at++) {
        const struct timeline_item *item = &items[i];
        columns->start[at] = (double)((__int128)item->start_ps - from);
        columns->end[at] = (double)((__int128)item->end_ps - from);
        columns->count[at] = item->count < UINT32_MAX ? (uint32_t)item->count : UINT32_MAX;
        if (are_samples) {
            columns->min[at] = item->min;
            columns->max[at] = item->max;
            columns->mean[at] = item->sum / (double)item->count;
            columns->last[at] = item->last;
            continue;
        }
        double length = columns->end[at] - columns->start[at];
        double busy = length > 0 ? (double)item->busy_ps / length : 1;
        columns->busy[at] = (float)(busy < 1 ? busy : 1);
        columns->id[at] = (double)item->id;
        columns->name[at] = name_number(render, item->name);
    }
}

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static void *take(char **at, size_t size)
{
    void *taken = *at;
    *at += padded(size);
    return taken;
}

static void put_rows(struct render *render, uint32_t *rows, const struct columns columns[2])
{
    size_t row_at[2] = {0, render->rows[0]}, item_at[2] = {0, 0};
    for (size_t i = 0; i < render->shares; i++) {
        const struct timeline_result *answer = &render->answers[i];
        const struct timeline_row *row;
        array_each (row, &answer->rows) {
            bool kind = is_counter(render, row);
            uint32_t *entry = rows + 4 * row_at[kind]++;
            entry[0] = row->track;
            entry[1] = row->row;
            entry[2] = (uint32_t)item_at[kind];
            entry[3] = (uint32_t)row->item_count;
            put_items(render, &columns[kind], item_at[kind], answer->items.items + row->first_item,
                      row->item_count, kind);
            item_at[kind] += row->item_count;
        }
    }
}

static void put_names(const struct render *render, struct output *out)
{
    uint32_t end = 0;
    const uint32_t *name;
    array_each (name, &render->names) {
        end += (uint32_t)timeline_name_at(render->timeline, *name).size;
        output_write(out, (const char *)&end, sizeof end);
    }
    array_each (name, &render->names) {
        struct text text = timeline_name_at(render->timeline, *name);
        output_write(out, text.data, text.size);
    }
}

/* The layout is that of docs/api.md. Sizes are known in advance, so each column is filled in place
 * and 8-byte columns stay aligned; names follow, as only filling the rows tells which ones are
 * needed. */
static void write_render(struct render *render, struct output *out)
{
    for (size_t i = 0; i < render->shares; i++) {
        const struct timeline_row *row;
        array_each (row, &render->answers[i].rows) {
            bool kind = is_counter(render, row);
            render->rows[kind]++;
            render->items[kind] += row->item_count;
        }
    }
    size_t slices = render->items[0], samples = render->items[1];
    size_t size = HEADER_SIZE + 16 * (render->rows[0] + render->rows[1]) + 24 * slices +
                  3 * padded(4 * slices) + 48 * samples + padded(4 * samples);
    output_reserve(out, size);
    memset(out->data, 0, size);
    out->size = size;
    char *at = out->data + HEADER_SIZE;
    uint32_t *rows = take(&at, 16 * (render->rows[0] + render->rows[1]));
    struct columns columns[2] = {{.start = take(&at, 8 * slices)}};
    columns[0].end = take(&at, 8 * slices);
    columns[0].id = take(&at, 8 * slices);
    columns[0].count = take(&at, 4 * slices);
    columns[0].busy = take(&at, 4 * slices);
    columns[0].name = take(&at, 4 * slices);
    columns[1].start = take(&at, 8 * samples);
    columns[1].end = take(&at, 8 * samples);
    columns[1].min = take(&at, 8 * samples);
    columns[1].max = take(&at, 8 * samples);
    columns[1].mean = take(&at, 8 * samples);
    columns[1].last = take(&at, 8 * samples);
    columns[1].count = take(&at, 4 * samples);
    put_rows(render, rows, columns);
    put_names(render, out);
    uint32_t counts[] = {VERSION,
                         (uint32_t)render->rows[0],
                         (uint32_t)render->rows[1],
                         (uint32_t)slices,
                         (uint32_t)samples,
                         (uint32_t)render->names.count,
                         render->query.width};
    memcpy(out->data, RESPONSE_MAGIC, 4);
    memcpy(out->data + 4, counts, sizeof counts);
    memcpy(out->data + 32, &render->query.from_ps, 8);
    memcpy(out->data + 40, &render->query.to_ps, 8);
    uint64_t names_size = out->size - size;
    memcpy(out->data + 48, &names_size, 8);
}

static void render_free(struct render *render)
{
    for (size_t i = 0; render->answers && i < render->shares; i++)
        timeline_result_free(&render->answers[i]);
    mem_free(render->answers);
    idmap_free(&render->name_numbers);
    array_free(&render->names);
    pthread_mutex_destroy(&render->lock);
}

/* Reads the window from the body; defaults to the whole profile. */
static bool read_window(const struct request *request, struct reply *reply,
                        const struct timeline *timeline, struct timeline_query *query,
                        number_list *tracks)
{
    uint64_t width = 1000;
    bool has_from, has_to;
    timeline_span(timeline, &query->from_ps, &query->to_ps);
    query->to_ps = add_saturated(query->to_ps, 1);
    if (!body_check(request, reply) || !body_numbers(request, reply, "tracks", tracks) ||
        !body_time(request, reply, "from", &query->from_ps, &has_from) ||
        !body_time(request, reply, "to", &query->to_ps, &has_to) ||
        !body_number(request, reply, "width", TIMELINE_MAX_WIDTH, &width))
        return false;
    query->tracks = tracks->items;
    query->track_count = tracks->count;
    query->width = (uint32_t)width;
    if (width == 0 || query->from_ps >= query->to_ps || tracks->count > MAX_TRACKS) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "a window needs a \"width\", \"from\" before \"to\", and %d tracks at most",
                    MAX_TRACKS);
        return false;
    }
    for (size_t i = 0; i < tracks->count; i++)
        if (tracks->items[i] >= timeline_track_count(timeline)) {
            reply_error(reply, MHD_HTTP_BAD_REQUEST, UNKNOWN_TRACK, tracks->items[i]);
            return false;
        }
    return true;
}

/* Bounds concurrent requests: each may take twice its 75 MB. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    unsigned count;
} renders = {.lock = PTHREAD_MUTEX_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER};

static bool render_begin(struct reply *reply)
{
    struct timespec until = clock_after_ms(RENDER_WAIT_S * 1000);
    int waited = 0;
    pthread_mutex_lock(&renders.lock);
    while (renders.count >= MAX_RENDERS && waited == 0)
        waited = pthread_cond_clockwait(&renders.freed, &renders.lock, CLOCK_MONOTONIC, &until);
    bool ok = renders.count < MAX_RENDERS;
    renders.count += ok;
    pthread_mutex_unlock(&renders.lock);
    if (!ok)
        reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE,
                    "too many timeline requests are running; try again");
    return ok;
}

static void render_end(void)
{
    pthread_mutex_lock(&renders.lock);
    renders.count--;
    pthread_cond_signal(&renders.freed);
    pthread_mutex_unlock(&renders.lock);
}

static void render_window(struct request *request, struct reply *reply, struct render *render)
{
    if (!render_begin(reply))
        return;
    if (query_all(request->server, render)) {
        reply->type = "application/octet-stream";
        write_render(render, &reply->body);
    } else {
        bool is_large = strcmp(render->err.text, TOO_MUCH) == 0;
        reply_failure(reply, is_large ? MHD_HTTP_CONTENT_TOO_LARGE : MHD_HTTP_INTERNAL_SERVER_ERROR,
                      &render->err);
    }
    render_end();
}

/* Limits the render to the results of a search. */
static struct timeline_ids *select_hits(const struct render *render, const struct hits *hits)
{
    const struct timeline_query *query = &render->query;
    struct timeline_ids *only = mem_alloc((query->track_count + 1) * sizeof *only);
    for (size_t i = 0; i < query->track_count; i++) {
        const struct timeline_track *track = timeline_track_at(render->timeline, query->tracks[i]);
        struct text table = timeline_name_at(render->timeline, track->table);
        bool is_run = text_equal(table, text_of(table_schemas[TABLE_RUNS].name));
        const struct id_set *ids = &hits->tables[is_run ? HITS_RUNS : HITS_EVENTS];
        only[i] = (struct timeline_ids){ids->bits, ids->count};
    }
    return only;
}

static void render_hits(struct request *request, struct reply *reply, struct opened *opened,
                        struct render *render, const char *search)
{
    struct hits *hits = hits_find(request, reply, opened, search);
    if (!hits)
        return;
    struct timeline_ids *only = select_hits(render, hits);
    render->query.only = only;
    render_window(request, reply, render);
    mem_free(only);
    hits_release(opened, hits);
}

void post_timeline(struct request *request, struct reply *reply)
{
    struct opened *opened = request->subject->opened;
    struct render render = {.timeline = opened_timeline(opened, reply)};
    number_list tracks = {0};
    char *search = NULL;
    pthread_mutex_init(&render.lock, NULL);
    if (render.timeline && read_window(request, reply, render.timeline, &render.query, &tracks) &&
        body_text(request, reply, "search", &search)) {
        if (search)
            render_hits(request, reply, opened, &render, search);
        else
            render_window(request, reply, &render);
    }
    mem_free(search);
    render_free(&render);
    array_free(&tracks);
}
