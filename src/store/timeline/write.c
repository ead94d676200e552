/*
 * Writes the index: splits each track's events into rows, each row into blocks and a tree. Tracks
 * that contain tracks get a row of their busy time.
 */
#include "store/timeline/busy.h"
#include "store/timeline/focus.h"
#include "store/timeline/format.h"
#include "store/timeline/pack.h"
#include "store/timeline/rows.h"
#include "store/timeline/samples.h"
#include "store/timeline/timeline.h"

#include <math.h>

enum { CHUNK_SIZE = 1 << 20 };

/* Accounting in loops over events, whose memory may be file-backed. */
enum { TOUCH_INTERVAL = 1024, EVENT_BYTES = 64 };

static void touch_events(size_t event)
{
    if (event % TOUCH_INTERVAL == 0)
        mem_touched(TOUCH_INTERVAL * EVENT_BYTES);
}

struct timeline_writer {
    struct output out;
    int64_t origin_ps;
    struct intern names;
    ARRAY(struct timeline_track) tracks;
    pthread_mutex_t lock; /* guards everything below */
    ARRAY(struct row_entry) rows;
    uint64_t size;
    uint8_t *page; /* contents of the current page so far */
    size_t page_used;
    ARRAY(uint64_t) checksums;
    int64_t first_ps, last_ps;
    focus_events focus;
    int64_t work_from_ps, work_to_ps; /* the part that contains the focus */
    ARRAY(struct busy_part) busy;     /* of the lanes */
};

/* Busy time that counts for a track. */
struct busy_part {
    uint32_t track;
    interval_list busy;
};

bool timeline_create(struct timeline_writer **result, const char *path, int64_t origin_ps,
                     struct error *err)
{
    struct timeline_writer *writer = mem_zeroed(1, sizeof *writer);
    if (!output_open(&writer->out, path, err)) {
        mem_free(writer);
        return false;
    }
    writer->origin_ps = origin_ps;
    writer->first_ps = INT64_MAX;
    writer->last_ps = INT64_MIN;
    writer->work_from_ps = INT64_MIN;
    writer->work_to_ps = INT64_MAX;
    writer->page = mem_alloc(PAGE_SIZE);
    intern_init(&writer->names);
    pthread_mutex_init(&writer->lock, NULL);
    *result = writer;
    return true;
}

uint32_t timeline_name(struct timeline_writer *writer, struct text name)
{
    return intern_add(&writer->names, name);
}

void timeline_set_work(struct timeline_writer *writer, int64_t from_ps, int64_t to_ps)
{
    writer->work_from_ps = from_ps;
    writer->work_to_ps = to_ps;
}

uint32_t timeline_add_track(struct timeline_writer *writer, const struct timeline_track *track)
{
    *array_push(&writer->tracks) = *track;
    return (uint32_t)(writer->tracks.count - 1);
}

/* Appends bytes to the file, with a checksum for every full page. */
static void append(struct timeline_writer *writer, const void *data, size_t size)
{
    const uint8_t *at = data;
    writer->size += size;
    while (size > 0) {
        size_t left = PAGE_SIZE - writer->page_used, copied = size < left ? size : left;
        mem_touched(copied);
        memcpy(writer->page + writer->page_used, at, copied);
        writer->page_used += copied;
        at += copied;
        size -= copied;
        if (writer->page_used == PAGE_SIZE) {
            *array_push(&writer->checksums) = hash_content(writer->page, PAGE_SIZE, CHECKSUM_SEED);
            output_write(&writer->out, (const char *)writer->page, PAGE_SIZE);
            writer->page_used = 0;
        }
    }
}

static void align(struct timeline_writer *writer)
{
    static const uint8_t zeros[8];
    append(writer, zeros, (8 - writer->size % 8) % 8);
}

/* Thread-safe append; returns the offset of the data. */
static uint64_t append_locked(struct timeline_writer *writer, const void *data, size_t size)
{
    pthread_mutex_lock(&writer->lock);
    if (writer->size == 0)
        append(writer, TIMELINE_MAGIC, MAGIC_SIZE);
    align(writer);
    uint64_t offset = writer->size;
    append(writer, data, size);
    pthread_mutex_unlock(&writer->lock);
    return offset;
}

/* Writes the row's blocks, a chunk at a time, and the table of their offsets. */
static uint64_t write_blocks(struct timeline_writer *writer, const struct events *events)
{
    size_t block_count = (events->count + BLOCK_EVENTS - 1) / BLOCK_EVENTS, in_chunk = 0;
    uint64_t *offsets = mem_alloc(block_count * sizeof *offsets);
    struct output chunk;
    output_memory(&chunk);
    int64_t before_ps = events->start_ps[0];
    for (size_t block = 0; block < block_count; block++) {
        size_t first = block * BLOCK_EVENTS, left = events->count - first;
        size_t count = left < BLOCK_EVENTS ? left : BLOCK_EVENTS;
        touch_events(first);
        offsets[block] = chunk.size;
        block_put(&chunk, events, first, count, before_ps);
        before_ps = events->end_ps[first + count - 1];
        if (chunk.size < CHUNK_SIZE && block + 1 < block_count)
            continue;
        uint64_t offset = append_locked(writer, chunk.data, chunk.size);
        for (; in_chunk <= block; in_chunk++)
            offsets[in_chunk] += offset;
        chunk.size = 0;
    }
    uint64_t table = append_locked(writer, offsets, block_count * sizeof *offsets);
    output_discard(&chunk);
    mem_free(offsets);
    return table;
}

typedef ARRAY(struct node) node_list;

static uint8_t level_of(uint64_t first, uint64_t last)
{
    return (uint8_t)((bits_needed(first ^ last) + 1) / 2);
}

static void add_node(node_list *nodes, const struct timeline_writer *writer,
                     const struct events *events, uint32_t first, uint32_t end)
{
    uint64_t origin = (uint64_t)writer->origin_ps;
    *array_push(nodes) = (struct node){
        .first = first,
        .count = end - first,
        .level = level_of((uint64_t)events->start_ps[first] - origin,
                          (uint64_t)events->start_ps[end - 1] - origin),
    };
}

/* The end of the events of [from, end) that start in the given quarter or before. */
static uint32_t end_of_quarter(const struct timeline_writer *writer, const struct events *events,
                               uint32_t from, uint32_t end, unsigned shift, uint64_t quarter)
{
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (end - from > MEM_JUMP / sizeof *events->start_ps)
            mem_touched(MEM_JUMP);
        uint64_t time = (uint64_t)events->start_ps[middle] - (uint64_t)writer->origin_ps;
        if ((time >> shift & 3) <= quarter)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

static void split(node_list *nodes, uint32_t index, const struct timeline_writer *writer,
                  const struct events *events)
{
    struct node node = nodes->items[index];
    if (node.count <= LEAF_EVENTS || node.level == 0)
        return;
    mem_touched(MEM_JUMP);
    uint32_t from = node.first, end = node.first + node.count;
    unsigned shift = 2 * (node.level - 1u);
    node.first_child = (uint32_t)nodes->count;
    for (uint64_t quarter = 0; quarter < 4 && from < end; quarter++) {
        uint32_t to = end_of_quarter(writer, events, from, end, shift, quarter);
        if (to > from) {
            add_node(nodes, writer, events, from, to);
            node.children++;
        }
        from = to;
    }
    nodes->items[index] = node;
}

/* Of equally long events the first counts as the longest, here and in sum_children, so that the
 * result does not depend on the shape of the tree. */
static void sum_events(struct node *node, const struct events *events)
{
    size_t first = node->first, last = first + node->count - 1;
    node->start_ps = events->start_ps[first];
    node->end_ps = events->end_ps[last];
    if (events->value) {
        node->sum = 0;
        node->min = node->max = events->value[first];
        for (size_t i = first; i <= last; i++) {
            node->sum += events->value[i];
            node->min = fmin(node->min, events->value[i]);
            node->max = fmax(node->max, events->value[i]);
        }
        node->last = events->value[last];
        return;
    }
    node->longest_ps = -1;
    for (size_t i = first; i <= last; i++) {
        int64_t duration = sub_saturated(events->end_ps[i], events->start_ps[i]);
        node->busy_ps = add_saturated(node->busy_ps, duration);
        if (duration <= node->longest_ps)
            continue;
        node->longest_ps = duration;
        node->longest_number = events->number[i];
        node->longest_name = events->name[i];
    }
}

/* From the children alone: a node costs the same however many events are below it. */
static void sum_children(struct node *node, const struct node *children, bool is_counter)
{
    const struct node *last = &children[node->children - 1];
    node->start_ps = children[0].start_ps;
    node->end_ps = last->end_ps;
    if (is_counter) {
        node->sum = 0;
        node->min = children[0].min;
        node->max = children[0].max;
        node->last = last->last;
    } else {
        node->longest_ps = -1;
    }
    for (const struct node *child = children; child <= last; child++) {
        if (is_counter) {
            node->sum += child->sum;
            node->min = fmin(node->min, child->min);
            node->max = fmax(node->max, child->max);
            continue;
        }
        node->busy_ps = add_saturated(node->busy_ps, child->busy_ps);
        if (child->longest_ps > node->longest_ps) {
            node->longest_ps = child->longest_ps;
            node->longest_number = child->longest_number;
            node->longest_name = child->longest_name;
        }
    }
}

static void make_tree(node_list *nodes, const struct timeline_writer *writer,
                      const struct events *events)
{
    nodes->count = 0;
    add_node(nodes, writer, events, 0, (uint32_t)events->count);
    for (uint32_t i = 0; i < nodes->count; i++)
        split(nodes, i, writer, events);
    for (size_t i = nodes->count; i > 0; i--) {
        struct node *node = &nodes->items[i - 1];
        mem_touched(sizeof *node + (node->children ? 0 : node->count * (size_t)EVENT_BYTES));
        if (node->children)
            sum_children(node, &nodes->items[node->first_child], events->value != NULL);
        else
            sum_events(node, events);
    }
}

static struct row_entry write_row(struct timeline_writer *writer, uint32_t track,
                                  const struct events *events, node_list *nodes)
{
    make_tree(nodes, writer, events);
    struct row_entry entry = {
        .events = events->count, .node_count = (uint32_t)nodes->count, .track = track};
    entry.blocks = write_blocks(writer, events);
    entry.nodes = append_locked(writer, nodes->items, nodes->count * sizeof *nodes->items);
    return entry;
}

static struct events events_make(size_t count, bool has_values)
{
    struct events events = {.count = count};
    events.start_ps = mem_alloc(count * sizeof *events.start_ps);
    events.end_ps = mem_alloc(count * sizeof *events.end_ps);
    events.number = mem_alloc(count * sizeof *events.number);
    events.name = mem_alloc(count * sizeof *events.name);
    events.value = has_values ? mem_alloc(count * sizeof *events.value) : NULL;
    return events;
}

static void events_free(struct events *events)
{
    mem_free(events->start_ps);
    mem_free(events->end_ps);
    mem_free(events->number);
    mem_free(events->name);
    mem_free(events->value);
}

static uint64_t number_at(const struct timeline_events *from, size_t index)
{
    return from->order ? from->order[index] : index;
}

static int64_t end_at(const struct timeline_events *from, uint64_t number)
{
    int64_t duration = from->duration_ps[number];
    return add_saturated(from->start_ps[number], duration > 0 ? duration : 0);
}

/* The track's events as the index stores them: row by row, each in time order; starts[row] is the
 * start of a row. Counters have one row. */
static struct events by_row(const struct timeline_events *from, const uint32_t *row_of,
                            size_t *starts)
{
    struct events events = events_make(from->count, from->value != NULL);
    for (size_t i = 0; i < from->count; i++) {
        touch_events(i);
        uint64_t number = number_at(from, i);
        size_t to = row_of ? starts[row_of[i]]++ : i;
        events.start_ps[to] = from->start_ps[number];
        events.end_ps[to] = end_at(from, number);
        events.number[to] = number;
        events.name[to] = from->names ? from->names[from->name[number]] : from->name[number];
        if (from->value)
            events.value[to] = from->value[number];
    }
    if (from->value)
        samples_end(events.start_ps, events.end_ps, from->count);
    return events;
}

struct row_assignment {
    uint32_t *row_of;     /* by event, in time order */
    ARRAY(size_t) counts; /* by row */
};

static void find_rows(const struct timeline_events *from, struct row_assignment *assignment)
{
    struct row_finder finder = {0};
    assignment->row_of = mem_alloc(from->count * sizeof *assignment->row_of);
    for (size_t i = 0; i < from->count; i++) {
        touch_events(i);
        uint64_t number = number_at(from, i);
        uint32_t row = row_finder_assign(&finder, from->start_ps[number], end_at(from, number));
        assignment->row_of[i] = row;
        if (row == assignment->counts.count)
            *array_push(&assignment->counts) = 0;
        assignment->counts.items[row]++;
    }
    row_finder_free(&finder);
}

static struct events into_rows(const struct timeline_events *from,
                               const struct row_assignment *assignment)
{
    size_t row_count = assignment->counts.count, before = 0;
    size_t *starts = mem_alloc(row_count * sizeof *starts);
    for (size_t row = 0; row < row_count; row++) {
        starts[row] = before;
        before += assignment->counts.items[row];
    }
    struct events events = by_row(from, row_count > 1 ? assignment->row_of : NULL, starts);
    mem_free(starts);
    return events;
}

static void publish_track(struct timeline_writer *writer, uint32_t track,
                          const struct events *events, const struct row_entry *rows,
                          size_t row_count)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < events->count; i++) {
        touch_events(i);
        last = events->end_ps[i] > last ? events->end_ps[i] : last;
    }
    pthread_mutex_lock(&writer->lock);
    struct timeline_track *entry = &writer->tracks.items[track];
    entry->events = events->count;
    entry->first_row = (uint32_t)writer->rows.count;
    entry->row_count = (uint32_t)row_count;
    for (size_t i = 0; i < row_count; i++)
        *array_push(&writer->rows) = rows[i];
    if (events->start_ps[0] < writer->first_ps)
        writer->first_ps = events->start_ps[0];
    if (last > writer->last_ps)
        writer->last_ps = last;
    if (!events->value)
        focus_add(&writer->focus, events->start_ps, events->end_ps, events->count);
    pthread_mutex_unlock(&writer->lock);
}

/* Notes the busy time of a track for those that contain it. */
static void note_busy(struct timeline_writer *writer, uint32_t track,
                      const struct timeline_events *from)
{
    if (!writer->tracks.items[track].is_work || from->value)
        return;
    interval_list busy = {0};
    array_reserve(&busy, from->count); /* growing a file in steps takes longer */
    for (size_t i = 0; i < from->count; i++) {
        touch_events(i);
        uint64_t number = number_at(from, i);
        busy_add(&busy, from->start_ps[number], end_at(from, number));
    }
    busy.capacity = busy.count;
    busy.items = mem_resize(busy.items, busy.capacity, sizeof *busy.items);
    pthread_mutex_lock(&writer->lock);
    *array_push(&writer->busy) = (struct busy_part){track, busy};
    pthread_mutex_unlock(&writer->lock);
}

/* Called by several threads, one track each; only writing blocks and publishing the entries take
 * the writer's lock. Counters have one row, as samples do not overlap. */
static void write_track(struct timeline_writer *writer, uint32_t track,
                        const struct timeline_events *from)
{
    struct row_assignment assignment = {0};
    node_list nodes = {0};
    ARRAY(struct row_entry) rows = {0};
    if (from->value)
        *array_push(&assignment.counts) = from->count;
    else
        find_rows(from, &assignment);
    struct events events = into_rows(from, &assignment);
    size_t row_count = assignment.counts.count;
    for (size_t row = 0, first = 0; row < row_count; first += assignment.counts.items[row++]) {
        struct events part = {.count = assignment.counts.items[row],
                              .start_ps = events.start_ps + first,
                              .end_ps = events.end_ps + first,
                              .number = events.number + first,
                              .name = events.name + first,
                              .value = events.value};
        *array_push(&rows) = write_row(writer, track, &part, &nodes);
    }
    publish_track(writer, track, &events, rows.items, row_count);
    events_free(&events);
    array_free(&rows);
    array_free(&nodes);
    array_free(&assignment.counts);
    mem_free(assignment.row_of);
}

bool timeline_add(struct timeline_writer *writer, uint32_t track,
                  const struct timeline_events *from, struct error *err)
{
    if (from->count == 0)
        return true;
    if (from->count > UINT32_MAX)
        return error_set(err, "a track has more than 2^32 events; the timeline cannot store them");
    write_track(writer, track, from);
    note_busy(writer, track, from);
    pthread_mutex_lock(&writer->lock);
    bool ok = !writer->out.failed;
    if (!ok)
        *err = writer->out.error;
    pthread_mutex_unlock(&writer->lock);
    return ok;
}

/* A row of a track that contains tracks: its busy time. */
static void write_busy(struct timeline_writer *writer, uint32_t track, const interval_list *busy)
{
    node_list nodes = {0};
    struct events events = events_make(busy->count, false);
    for (size_t i = 0; i < busy->count; i++) {
        touch_events(i);
        events.start_ps[i] = busy->items[i].start_ps;
        events.end_ps[i] = busy->items[i].end_ps;
        events.number[i] = i;
        events.name[i] = writer->tracks.items[track].name;
    }
    struct row_entry row = write_row(writer, track, &events, &nodes);
    writer->tracks.items[track].first_row = (uint32_t)writer->rows.count;
    writer->tracks.items[track].row_count = 1;
    *array_push(&writer->rows) = row;
    events_free(&events);
    array_free(&nodes);
}

/* From the lanes up: parents come before their children. */
static void write_groups(struct timeline_writer *writer)
{
    typedef ARRAY(interval_list) part_list;
    part_list *parts = mem_zeroed(writer->tracks.count, sizeof *parts);
    const struct busy_part *part;
    array_each (part, &writer->busy)
        *array_push(&parts[part->track]) = part->busy;
    writer->busy.count = 0;
    for (size_t i = writer->tracks.count; i-- > 0;) {
        const struct timeline_track *track = &writer->tracks.items[i];
        interval_list busy = busy_union(parts[i].items, parts[i].count);
        array_free(&parts[i]);
        if (track->row_count == 0 && busy.count > 0 && busy.count <= UINT32_MAX)
            write_busy(writer, (uint32_t)i, &busy);
        if (track->parent != TIMELINE_NONE && busy.count > 0)
            *array_push(&parts[track->parent]) = busy;
        else
            array_free(&busy);
    }
    mem_free(parts);
}

/* Tracks, rows, the ends of names, names: the order that read_directory expects. Called once, when
 * all tracks are written. */
static void put_directory(struct timeline_writer *writer)
{
    const struct timeline_track *track;
    array_each (track, &writer->tracks) {
        struct track_entry entry = {.parent = track->parent,
                                    .level = track->level,
                                    .role = track->role,
                                    .name = track->name,
                                    .table = track->table,
                                    .is_counter = track->is_counter,
                                    .first_id = track->first_id,
                                    .sort_key = track->sort_key,
                                    .events = track->events,
                                    .first_row = track->first_row,
                                    .row_count = track->row_count};
        append(writer, &entry, sizeof entry);
    }
    append(writer, writer->rows.items, writer->rows.count * sizeof *writer->rows.items);
    const struct text *name;
    uint64_t end = 0;
    array_each (name, &writer->names.by_id) {
        end += name->size;
        append(writer, &end, sizeof end);
    }
    array_each (name, &writer->names.by_id)
        append(writer, name->data, name->size);
    align(writer);
}

/* Writes the last page and the checksums. */
static void put_end(struct timeline_writer *writer, struct trailer *trailer)
{
    *array_push(&writer->checksums) = hash_content(writer->page, writer->page_used, CHECKSUM_SEED);
    size_t size = writer->checksums.count * sizeof *writer->checksums.items;
    output_write(&writer->out, (const char *)writer->page, writer->page_used);
    output_write(&writer->out, (const char *)writer->checksums.items, size);
    uint64_t own =
        hash_content(trailer, offsetof(struct trailer, checksum_of_checksums), CHECKSUM_SEED);
    trailer->checksum_of_checksums = hash_content(writer->checksums.items, size, own);
    memcpy(trailer->magic, TIMELINE_TRAILER, MAGIC_SIZE);
    output_write(&writer->out, (const char *)trailer, sizeof *trailer);
}

static void release(struct timeline_writer *writer)
{
    intern_free(&writer->names);
    array_free(&writer->tracks);
    array_free(&writer->rows);
    array_free(&writer->checksums);
    array_free(&writer->focus);
    struct busy_part *part;
    array_each (part, &writer->busy)
        array_free(&part->busy);
    array_free(&writer->busy);
    mem_free(writer->page);
    pthread_mutex_destroy(&writer->lock);
    mem_free(writer);
}

bool timeline_commit(struct timeline_writer *writer, struct error *err)
{
    write_groups(writer);
    struct trailer trailer = {.origin_ps = writer->origin_ps,
                              .first_ps = writer->rows.count ? writer->first_ps : 0,
                              .last_ps = writer->rows.count ? writer->last_ps : 0,
                              .track_count = (uint32_t)writer->tracks.count,
                              .row_count = (uint32_t)writer->rows.count,
                              .name_count = (uint32_t)writer->names.by_id.count};
    trailer.focus_from_ps = trailer.first_ps;
    trailer.focus_to_ps = trailer.last_ps;
    focus_narrow(writer->work_from_ps, writer->work_to_ps, &trailer.focus_from_ps,
                 &trailer.focus_to_ps);
    focus_find(&writer->focus, &trailer.focus_from_ps, &trailer.focus_to_ps);
    trailer.directory = append_locked(writer, NULL, 0);
    put_directory(writer);
    trailer.checksums = writer->size;
    put_end(writer, &trailer);
    bool ok = output_commit(&writer->out, err);
    release(writer);
    return ok;
}

void timeline_discard(struct timeline_writer *writer)
{
    if (!writer)
        return;
    output_discard(&writer->out);
    release(writer);
}
