/*
 * Chrome trace JSON, first pass: finds texts, types and lanes, and counts the events of each lane
 * in each chunk. Each worker cuts the next chunk and parses it while it is in the cache, into its
 * own tables; these are merged in file order, so that ids do not depend on scheduling.
 */
#include "import/chrome/chrome_passes.h"
#include "import/content.h"

typedef ARRAY(uint32_t) number_list;

struct survey_worker {
    struct chrome_tables tables;
    struct chrome_reader reader;
    number_list counts;  /* by lane: events in the current chunk */
    number_list touched; /* lanes with events in it */
    ARRAY(struct chrome_lane_facts) lanes;
    ARRAY(struct chrome_count) chunk_counts; /* chunk by chunk */
    ARRAY(struct chrome_mark) marks;
    ARRAY(const char *) metadata;
    number_list texts, types, all_lanes; /* ids in the source's tables */
    int64_t first_ps, last_ps;
    uint64_t far_events, timed_events, timeless_events;
    const char *first_far; /* the first event out of range */
    int64_t far_us;        /* its time */
    bool is_cut_off;
};

/* The sizes of a worker's tables after a chunk, and the position of the chunk's counts. */
struct chunk_record {
    struct chrome_chunk chunk;
    uint32_t worker;
    uint32_t texts, types, lanes;
    size_t first_count, counts;
};

struct surveying {
    const struct json_file *file;
    struct chrome_cutter cutter;
    struct survey_worker *workers;
    unsigned worker_count;
    pthread_mutex_t lock; /* guards the cutter and the members below */
    ARRAY(struct chunk_record) records;
    bool failed;
    struct json_reader problem; /* the first error in the file */
};

static void worker_init(struct survey_worker *worker, const struct json_file *file)
{
    *worker = (struct survey_worker){.first_ps = INT64_MAX, .last_ps = INT64_MIN};
    chrome_tables_init(&worker->tables);
    chrome_reader_init(&worker->reader, &worker->tables, true);
    worker->reader.anchor_us = file->anchor_us;
}

static void worker_free(struct survey_worker *worker)
{
    chrome_reader_free(&worker->reader);
    chrome_tables_free(&worker->tables);
    array_free(&worker->counts);
    array_free(&worker->touched);
    array_free(&worker->lanes);
    array_free(&worker->chunk_counts);
    array_free(&worker->marks);
    array_free(&worker->metadata);
    array_free(&worker->texts);
    array_free(&worker->types);
    array_free(&worker->all_lanes);
}

static int64_t end_of(const struct chrome_event *event)
{
    return add_saturated(event->time_ps, event->duration_ps > 0 ? event->duration_ps : 0);
}

static void count_event(struct survey_worker *worker, const struct chrome_event *event,
                        uint32_t lane)
{
    while (worker->counts.count <= lane) {
        *array_push(&worker->counts) = 0;
        *array_push(&worker->lanes) =
            (struct chrome_lane_facts){.stream = event->stream, .end_ps = INT64_MIN};
    }
    if (worker->counts.items[lane]++ == 0)
        *array_push(&worker->touched) = lane;
    int64_t end_ps = end_of(event);
    if (event->has_time && end_ps > worker->lanes.items[lane].end_ps)
        worker->lanes.items[lane].end_ps = end_ps;
}

static void survey_time(struct survey_worker *worker, const struct chrome_event *event)
{
    if (!event->has_time) {
        worker->timeless_events++;
        return;
    }
    worker->timed_events++;
    if (event->is_far) {
        if (worker->far_events++ == 0) {
            worker->first_far = event->start;
            worker->far_us = chrome_microseconds(&event->time);
        }
        return;
    }
    int64_t end_ps = end_of(event);
    if (event->time_ps < worker->first_ps)
        worker->first_ps = event->time_ps;
    if (end_ps > worker->last_ps)
        worker->last_ps = end_ps;
}

static uint64_t hash_text(struct text text)
{
    return hash_bytes(text.data, text.size);
}

/* Independent of the worker's ids. */
static uint64_t hash_id(const struct chrome_tables *tables, struct chrome_id id)
{
    uint64_t identity[2] = {(uint64_t)id.form, (uint64_t)id.value};
    if (id.form == ID_TEXT)
        identity[1] = hash_text(intern_text(&tables->texts, (uint32_t)id.value));
    return hash_bytes(identity, sizeof identity);
}

/* Synchronous pairs match by thread; others by category, id and scope, and by process if their id
 * is local to one. */
static uint64_t group_of(const struct chrome_tables *tables, const struct chrome_event *event)
{
    uint64_t pid = hash_id(tables, event->pid);
    if (event->phase == 'B' || event->phase == 'E') {
        uint64_t thread[2] = {pid, hash_id(tables, event->tid)};
        return hash_bytes(thread, sizeof thread);
    }
    struct json_value id = event->id;
    bool is_local = value_member(&event->id, TEXT("local"), &id);
    if (!is_local)
        value_member(&event->id, TEXT("global"), &id);
    bool is_old = event->phase == 'S' || event->phase == 'F';
    uint64_t identity[5] = {hash_text(event->category.text), hash_text(id.text),
                            hash_text(event->scope.text), is_local ? pid : 0, is_old};
    return hash_bytes(identity, sizeof identity);
}

static void add_mark(struct survey_worker *worker, const struct json_file *file,
                     const struct chrome_event *event)
{
    *array_push(&worker->marks) = (struct chrome_mark){
        .group = group_of(&worker->tables, event),
        .time_ps = event->time_ps,
        .position = (uint64_t)(event->start - file->data) * 2 + chrome_ends(event->phase)};
}

/* One event for each series of a counter. */
static void count_series(struct survey_worker *worker, const struct chrome_event *event,
                         uint32_t type)
{
    struct chrome_reader *reader = &worker->reader;
    for (size_t i = event->args_begin; i < event->args_end; i++)
        count_event(worker, event,
                    chrome_find_lane(reader, event, type, reader->args.items[i].key));
}

static void survey_event(struct survey_worker *worker, const struct json_file *file,
                         const struct chrome_event *event)
{
    if (event->is_empty)
        return;
    if (event->phase == 'M') {
        *array_push(&worker->metadata) = event->start;
        return;
    }
    survey_time(worker, event);
    if (chrome_begins(event->phase) || chrome_ends(event->phase))
        add_mark(worker, file, event);
    if (chrome_ends(event->phase))
        return;
    uint32_t type = chrome_find_type(&worker->reader, event);
    if (event->phase == 'C')
        count_series(worker, event, type);
    else
        count_event(worker, event, chrome_find_lane(&worker->reader, event, type, 0));
}

/* False on error; a truncated last event is dropped. */
static bool read_chunk(struct survey_worker *worker, const struct json_file *file,
                       const struct chrome_chunk *chunk)
{
    struct chrome_reader *reader = &worker->reader;
    bool after_event = !chunk->is_first;
    reader->in = json_read((struct text){chunk->data, chunk->size});
    while (chrome_next_event(reader, &after_event)) {
        struct chrome_event event;
        if (!chrome_read_event(reader, &event))
            break;
        survey_event(worker, file, &event);
        reader->args.count = 0;
    }
    if (reader->in.problem == JSON_CUT_OFF && chunk->is_cut) {
        worker->is_cut_off = true;
        reader->in.problem = NULL;
    }
    reader->args.count = 0;
    arena_free(&reader->texts);
    return reader->in.problem == NULL;
}

static void keep_counts(struct survey_worker *worker, struct chunk_record *record)
{
    record->first_count = worker->chunk_counts.count;
    record->counts = worker->touched.count;
    const uint32_t *lane;
    array_each (lane, &worker->touched) {
        *array_push(&worker->chunk_counts) =
            (struct chrome_count){*lane, worker->counts.items[*lane]};
        worker->counts.items[*lane] = 0;
    }
    worker->touched.count = 0;
    record->texts = (uint32_t)worker->tables.texts.by_id.count;
    record->types = (uint32_t)worker->tables.types.by_id.count;
    record->lanes = (uint32_t)worker->tables.lanes.by_id.count;
}

static void keep_problem(struct surveying *surveying, const struct json_reader *in)
{
    if (!surveying->failed || in->at < surveying->problem.at)
        surveying->problem = *in;
    surveying->failed = true;
}

/* The next chunk and its index; false at the end. */
static bool take_chunk(struct surveying *surveying, struct chrome_chunk *chunk, size_t *number)
{
    pthread_mutex_lock(&surveying->lock);
    bool ok = !surveying->failed && chrome_cut(&surveying->cutter, chunk);
    if (ok) {
        *number = surveying->records.count;
        *array_push(&surveying->records) = (struct chunk_record){.chunk = *chunk};
    } else if (surveying->cutter.in.problem) {
        keep_problem(surveying, &surveying->cutter.in);
    }
    pthread_mutex_unlock(&surveying->lock);
    return ok;
}

/* Parses chunks until there are no more. */
static bool survey_task(void *context, size_t index, unsigned number)
{
    (void)index;
    struct surveying *surveying = context;
    struct survey_worker *worker = &surveying->workers[number];
    struct chrome_chunk chunk;
    size_t chunk_number;
    while (take_chunk(surveying, &chunk, &chunk_number)) {
        bool ok = read_chunk(worker, surveying->file, &chunk);
        struct chunk_record record = {.chunk = chunk, .worker = number};
        keep_counts(worker, &record);
        mem_touched(chunk.size);
        pthread_mutex_lock(&surveying->lock);
        surveying->records.items[chunk_number] = record;
        if (!ok)
            keep_problem(surveying, &worker->reader.in);
        pthread_mutex_unlock(&surveying->lock);
        file_release(&surveying->file->map, (const uint8_t *)chunk.data, chunk.size);
    }
    return true;
}

/* Merges a worker's new texts and types, in the order of their first use. */
static void adopt_names(struct chrome_tables *tables, struct survey_worker *worker,
                        const struct chunk_record *record)
{
    for (uint32_t i = (uint32_t)worker->texts.count; i < record->texts; i++)
        *array_push(&worker->texts) =
            intern_add(&tables->texts, intern_text(&worker->tables.texts, i));
    for (uint32_t i = (uint32_t)worker->types.count; i < record->types; i++) {
        uint32_t type = intern_add(&tables->types, intern_text(&worker->tables.types, i));
        *array_push(&worker->types) = type;
        if (type == tables->works.count) {
            *array_push(&tables->works) = worker->tables.works.items[i];
            *array_push(&tables->slices) = false;
        }
    }
}

static uint32_t translate_lane(struct chrome_tables *tables, const struct survey_worker *worker,
                               uint32_t file, uint32_t number)
{
    struct chrome_lane lane;
    memcpy(&lane, intern_text(&worker->tables.lanes, number).data, sizeof lane);
    lane.file = file;
    if (lane.pid_form == ID_TEXT)
        lane.pid = worker->texts.items[lane.pid];
    if (lane.tid_form == ID_TEXT)
        lane.tid = worker->texts.items[lane.tid];
    lane.detail = lane.class == CLASS_COUNTER ? worker->types.items[lane.detail]
                                              : worker->texts.items[lane.detail];
    lane.series = worker->texts.items[lane.series];
    return intern_add(&tables->lanes, (struct text){(const char *)&lane, sizeof lane});
}

/* The lanes of a file follow those of earlier files. */
static void adopt_lanes(struct chrome_source *source, struct chrome_survey *survey, uint32_t file,
                        struct survey_worker *worker, const struct chunk_record *record)
{
    if (worker->all_lanes.count == 0)
        *array_push(&worker->all_lanes) = 0; /* the empty text is not a lane */
    for (uint32_t i = (uint32_t)worker->all_lanes.count; i < record->lanes; i++) {
        uint32_t lane = translate_lane(&source->tables, worker, file, i);
        *array_push(&worker->all_lanes) = lane;
        if (lane - survey->first_lane == survey->lanes.count)
            *array_push(&survey->lanes) = worker->lanes.items[i];
        struct chrome_lane_facts *facts = &survey->lanes.items[lane - survey->first_lane];
        if (worker->lanes.items[i].end_ps > facts->end_ps)
            facts->end_ps = worker->lanes.items[i].end_ps;
    }
}

static void adopt_chunk(struct chrome_source *source, struct chrome_survey *survey, uint32_t file,
                        struct surveying *surveying, const struct chunk_record *record)
{
    struct survey_worker *worker = &surveying->workers[record->worker];
    adopt_names(&source->tables, worker, record);
    adopt_lanes(source, survey, file, worker, record);
    if (record->counts == 0)
        return;
    struct chrome_chunk *chunk = array_push(&source->chunks);
    *chunk = record->chunk;
    chunk->file = file;
    *array_push(&survey->chunk_counts) = record->counts;
    for (size_t i = 0; i < record->counts; i++) {
        struct chrome_count count = worker->chunk_counts.items[record->first_count + i];
        count.lane = worker->all_lanes.items[count.lane];
        *array_push(&survey->counts) = count;
    }
}

static bool by_address(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const char *const *)a < *(const char *const *)b;
}

static void adopt_worker(struct chrome_survey *survey, struct survey_worker *worker)
{
    for (size_t i = 0; i < worker->marks.count; i++) {
        if (i % 4096 == 0)
            mem_touched((size_t)2 * 4096 * sizeof *worker->marks.items);
        *array_push(&survey->marks) = worker->marks.items[i];
    }
    const char **event;
    array_each (event, &worker->metadata)
        *array_push(&survey->metadata) = *event;
    if (worker->first_ps < survey->first_ps)
        survey->first_ps = worker->first_ps;
    if (worker->last_ps > survey->last_ps)
        survey->last_ps = worker->last_ps;
    survey->far_events += worker->far_events;
    survey->timeless_events += worker->timeless_events;
    survey->is_cut_off |= worker->is_cut_off;
}

static void adopt_all(struct chrome_source *source, struct chrome_survey *survey, uint32_t file,
                      struct surveying *surveying)
{
    survey->first_lane = source->tables.lanes.by_id.count;
    const struct chunk_record *record;
    array_each (record, &surveying->records)
        adopt_chunk(source, survey, file, surveying, record);
    for (unsigned i = 0; i < surveying->worker_count; i++) {
        const struct survey_worker *worker = &surveying->workers[i];
        for (size_t type = 0; type < worker->types.count; type++)
            source->tables.slices.items[worker->types.items[type]] |=
                worker->tables.slices.items[type];
        adopt_worker(survey, &surveying->workers[i]);
    }
    sort_items(survey->metadata.items, survey->metadata.count, sizeof *survey->metadata.items,
               by_address, NULL);
}

/* The time of the first event that has one; the others should be near it. */
static int64_t find_anchor(const struct json_file *file)
{
    struct chrome_cutter cutter;
    struct chrome_chunk chunk;
    struct survey_worker worker;
    int64_t anchor_us = 0;
    bool found = false;
    chrome_cutter_init(&cutter, file);
    worker_init(&worker, file);
    while (!found && chrome_cut(&cutter, &chunk)) {
        struct chrome_event event;
        bool after_event = !chunk.is_first;
        worker.reader.in = json_read((struct text){chunk.data, chunk.size});
        while (!found && chrome_next_event(&worker.reader, &after_event) &&
               chrome_read_event(&worker.reader, &event)) {
            found = event.has_time && event.phase != 'M';
            anchor_us = found ? chrome_microseconds(&event.time) : 0;
        }
    }
    worker_free(&worker);
    chrome_cutter_free(&cutter);
    return anchor_us;
}

/* If most events are far from the first one, moves the anchor to them. */
static bool find_other_anchor(const struct surveying *surveying, int64_t *anchor_us)
{
    uint64_t far = 0, timed = 0;
    const struct survey_worker *first = NULL;
    for (unsigned i = 0; i < surveying->worker_count; i++) {
        const struct survey_worker *worker = &surveying->workers[i];
        far += worker->far_events;
        timed += worker->timed_events;
        if (worker->far_events && (!first || worker->first_far < first->first_far))
            first = worker;
    }
    if (!first || far <= timed / 2)
        return false;
    *anchor_us = first->far_us;
    return true;
}

static void walk_file(struct surveying *surveying, struct pool *pool)
{
    chrome_cutter_init(&surveying->cutter, surveying->file);
    for (unsigned i = 0; i < surveying->worker_count; i++)
        worker_init(&surveying->workers[i], surveying->file);
    pool_run(pool, surveying->worker_count, survey_task, surveying);
}

static void discard_results(struct surveying *surveying)
{
    for (unsigned i = 0; i < surveying->worker_count; i++)
        worker_free(&surveying->workers[i]);
    array_free(&surveying->records);
}

/* Times are kept relative to an anchor, as picoseconds since 1970 do not fit in 64 bits. If the
 * first event's time turns out to be far from most others, the file is read again with a better
 * anchor. */
bool chrome_survey_make(struct chrome_source *source, uint32_t number, struct chrome_survey *survey,
                        struct pool *pool, struct error *err)
{
    struct json_file *file = &source->files.items[number];
    struct surveying surveying = {.file = file, .worker_count = pool_workers(pool)};
    *survey = (struct chrome_survey){.first_ps = INT64_MAX, .last_ps = INT64_MIN};
    surveying.workers = mem_zeroed(surveying.worker_count, sizeof *surveying.workers);
    pthread_mutex_init(&surveying.lock, NULL);
    file->anchor_us = find_anchor(file);
    walk_file(&surveying, pool);
    if (!surveying.failed && find_other_anchor(&surveying, &file->anchor_us)) {
        discard_results(&surveying);
        chrome_cutter_free(&surveying.cutter);
        walk_file(&surveying, pool);
    }
    survey->cutter = surveying.cutter;
    bool ok = !surveying.failed;
    if (!ok)
        json_damaged(file, &surveying.problem, err);
    else
        adopt_all(source, survey, number, &surveying);
    if (ok && !survey->cutter.has_events)
        ok = content_refuse(file->path, (const uint8_t *)file->data, file->size, err);
    survey->is_cut_off |= survey->cutter.is_cut_off;
    discard_results(&surveying);
    mem_free(surveying.workers);
    pthread_mutex_destroy(&surveying.lock);
    return ok;
}

void chrome_survey_free(struct chrome_survey *survey)
{
    chrome_cutter_free(&survey->cutter);
    array_free(&survey->lanes);
    array_free(&survey->counts);
    array_free(&survey->chunk_counts);
    array_free(&survey->marks);
    array_free(&survey->metadata);
}
