/*
 * Guesses the steps of a capture that marks none: the program that takes most of the devices' time
 * and runs at least three times is taken for the step. Programs are XLA modules on TPUs, XLA's
 * executions with a run id on GPUs, and graphs that are launched again and again. A step lasts
 * until the next one begins; what was launched meanwhile belongs to it, and so do copies to the
 * device right before it. Of PyTorch, an optimizer tells more than a graph, and a graph more than
 * annotations.
 */
#include "analyze/profile/analysis_passes.h"

enum { MIN_RUNS = 3 };

/* One execution of a program, or one launch of a graph. */
struct program_run {
    uint32_t process;
    uint64_t program;         /* identity */
    uint32_t module;          /* string; STRING_NONE until a kernel tells it */
    struct event_ref root;    /* the call on the host, or the module on the device */
    int64_t start_ps, end_ps; /* of the root */
    int64_t device_ps;
    uint64_t kernels;
    uint32_t first_kernel; /* type */
};

typedef ARRAY(struct program_run) run_list;

/* Runs of programs, and what launches copied to a device. */
struct guessing {
    struct analysis *analysis;
    run_list runs;
    struct idmap by_id;     /* process and run id -> index in runs */
    struct idmap by_launch; /* index of the launch of a graph -> index in runs */
    bool *is_upload;        /* by launch: copies to the device */
};

static uint32_t process_of(const struct analysis *analysis, uint32_t track)
{
    return catalog_ancestor(analysis->catalog, track, TRACK_PROCESS);
}

static struct text type_name(const struct analysis *analysis, uint32_t type)
{
    return catalog_text(analysis->catalog, analysis->catalog->types.items[type].name);
}

static uint64_t key_of(uint32_t process, int64_t run)
{
    uint64_t identity[2] = {process, (uint64_t)run};
    return hash_bytes(identity, sizeof identity);
}

static uint32_t add_run(struct guessing *guessing, const struct event_ref *root)
{
    const struct lane_events *events = &guessing->analysis->trace.lanes[root->track];
    *array_push(&guessing->runs) =
        (struct program_run){.process = process_of(guessing->analysis, root->track),
                             .root = *root,
                             .start_ps = events->start_ps[root->event],
                             .end_ps = event_end(events, root->event)};
    return (uint32_t)(guessing->runs.count - 1);
}

/* Runs on hosts: the first event with a run's id is the outermost. */
static void find_host_runs(struct guessing *guessing)
{
    const struct analysis *analysis = guessing->analysis;
    for (size_t i = 0; i < analysis->marks.count; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        touch_event(i);
        if (mark->kind != MARK_RUN || analysis->lanes[mark->ref.track].label ||
            !event_is_timed(&analysis->trace.lanes[mark->ref.track], mark->ref.event))
            continue;
        uint64_t key = key_of(process_of(analysis, mark->ref.track), mark->id);
        uint32_t known = idmap_get(&guessing->by_id, key);
        if (known == IDMAP_NONE) {
            idmap_put(&guessing->by_id, key, add_run(guessing, &mark->ref));
            continue;
        }
        struct program_run *run = &guessing->runs.items[known];
        const struct lane_events *events = &analysis->trace.lanes[mark->ref.track];
        if (events->start_ps[mark->ref.event] < run->start_ps) {
            run->root = mark->ref;
            run->start_ps = events->start_ps[mark->ref.event];
            run->end_ps = event_end(events, mark->ref.event);
        }
    }
}

static bool is_graph_launch(struct text name)
{
    return text_starts(name, TEXT("cudaGraphLaunch")) || text_starts(name, TEXT("cuGraphLaunch")) ||
           text_starts(name, TEXT("hipGraphLaunch"));
}

static bool is_upload(struct text name)
{
    return text_starts(name, TEXT("MemcpyH2D")) || text_starts(name, TEXT("Memcpy HtoD")) ||
           text_starts(name, TEXT("CopyHostToDevice"));
}

static void find_graph_launches(struct guessing *guessing)
{
    const struct analysis *analysis = guessing->analysis;
    for (uint32_t i = 0; i < analysis->launches.count; i++) {
        const struct event_ref *ref = &analysis->launches.items[i].event;
        touch_event(i);
        uint32_t type = analysis->trace.lanes[ref->track].type[ref->event];
        if (is_graph_launch(type_name(analysis, type)))
            idmap_put(&guessing->by_launch, i, add_run(guessing, ref));
    }
}

static struct program_run *run_of_launch(const struct guessing *guessing,
                                         const struct launch *launch)
{
    const struct analysis *analysis = guessing->analysis;
    uint32_t index = IDMAP_NONE;
    if (launch->has_run)
        index = idmap_get(&guessing->by_id,
                          key_of(process_of(analysis, launch->event.track), launch->run));
    if (index == IDMAP_NONE)
        index = idmap_get(&guessing->by_launch, (uint64_t)(launch - analysis->launches.items));
    return index == IDMAP_NONE ? NULL : &guessing->runs.items[index];
}

/* What the device did for each run. */
static void add_device_lane(struct guessing *guessing, uint32_t track)
{
    struct analysis *analysis = guessing->analysis;
    const struct lane_analysis *lane = &analysis->lanes[track];
    const struct lane_events *events = &analysis->trace.lanes[track];
    uint32_t process = process_of(analysis, track);
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t event = event_at(lane, i);
        touch_event(i);
        const struct launch *launch = lane->correlation[event]
                                          ? find_launch(analysis, process, lane->correlation[event])
                                          : NULL;
        if (!launch || !event_is_timed(events, event))
            continue;
        if (is_upload(type_name(analysis, events->type[event])))
            guessing->is_upload[launch - analysis->launches.items] = true;
        struct program_run *run = run_of_launch(guessing, launch);
        if (!run)
            continue;
        if (run->kernels++ == 0)
            run->first_kernel = events->type[event];
        if (lane->label[event] && !run->module)
            run->module = analysis->labels.items[lane->label[event] - 1].module;
        run->device_ps =
            add_saturated(run->device_ps, event_end(events, event) - events->start_ps[event]);
    }
}

static bool is_lane_of(const struct track *track, enum lane_role role)
{
    return track->level == TRACK_LANE && track->source == SOURCE_DEVICE && track->events > 0 &&
           track->core == 0 && track->lane == role;
}

/* Runs whose programs have a name are told apart by it, graphs by what they begin with and how many
 * kernels they are. */
static void identify_programs(const struct guessing *guessing)
{
    const struct analysis *analysis = guessing->analysis;
    struct program_run *run;
    array_each (run, &guessing->runs) {
        uint32_t type = analysis->trace.lanes[run->root.track].type[run->root.event];
        uint32_t call = analysis->catalog->types.items[type].name;
        uint64_t named[2] = {1, run->module};
        uint64_t graph[3] = {call, run->first_kernel, run->kernels};
        run->program =
            run->module ? hash_bytes(named, sizeof named) : hash_bytes(graph, sizeof graph);
    }
}

static void find_gpu_runs(struct guessing *guessing)
{
    struct analysis *analysis = guessing->analysis;
    find_host_runs(guessing);
    if (guessing->runs.count < MIN_RUNS)
        find_graph_launches(guessing);
    if (guessing->runs.count < MIN_RUNS)
        return;
    for (uint32_t i = 0; i < analysis->catalog->tracks.count; i++)
        if (is_lane_of(&analysis->catalog->tracks.items[i], LANE_STREAM))
            add_device_lane(guessing, i);
    identify_programs(guessing);
}

/* The program that takes most time of those that run often enough; 0 if there is none. */
static uint64_t main_program(const run_list *runs)
{
    struct totals_of_program {
        uint64_t program, runs;
        int64_t device_ps;
    };
    ARRAY(struct totals_of_program) programs = {0};
    struct idmap index = {0};
    for (size_t i = 0; i < runs->count; i++) {
        const struct program_run *run = &runs->items[i];
        uint32_t at = idmap_get(&index, run->program);
        if (at == IDMAP_NONE) {
            at = (uint32_t)programs.count;
            idmap_put(&index, run->program, at);
            *array_push(&programs) = (struct totals_of_program){.program = run->program};
        }
        programs.items[at].runs += run->device_ps > 0;
        programs.items[at].device_ps = add_saturated(programs.items[at].device_ps, run->device_ps);
    }
    uint64_t best = 0;
    int64_t best_ps = 0;
    for (size_t i = 0; i < programs.count; i++) {
        if (programs.items[i].runs >= MIN_RUNS && programs.items[i].device_ps > best_ps) {
            best = programs.items[i].program;
            best_ps = programs.items[i].device_ps;
        }
    }
    idmap_free(&index);
    array_free(&programs);
    return best;
}

static bool by_process_and_start(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct program_run *m = a, *n = b;
    return m->process != n->process ? m->process < n->process : m->start_ps < n->start_ps;
}

/* Keeps the runs of one program that did something on a device, by process and time. */
static void keep_program(run_list *runs, uint64_t program)
{
    size_t kept = 0;
    for (size_t i = 0; i < runs->count; i++)
        if (runs->items[i].program == program && runs->items[i].device_ps > 0)
            runs->items[kept++] = runs->items[i];
    runs->count = kept;
    sort_items(runs->items, kept, sizeof *runs->items, by_process_and_start, NULL);
}

/* A launch on the host, for sorting by time. */
struct timed_launch {
    int64_t start_ps;
    uint32_t process, launch;
};

typedef ARRAY(struct timed_launch) launch_list;

static bool launch_before(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct timed_launch *m = a, *n = b;
    return m->process != n->process ? m->process < n->process : m->start_ps < n->start_ps;
}

static void list_launches(const struct analysis *analysis, launch_list *list)
{
    for (uint32_t i = 0; i < analysis->launches.count; i++) {
        const struct event_ref *ref = &analysis->launches.items[i].event;
        touch_event(i);
        *array_push(list) = (struct timed_launch){
            .start_ps = analysis->trace.lanes[ref->track].start_ps[ref->event],
            .process = process_of(analysis, ref->track),
            .launch = i};
    }
    sort_items(list->items, list->count, sizeof *list->items, launch_before, NULL);
}

static size_t first_launch(const launch_list *list, uint32_t process, int64_t start_ps)
{
    size_t low = 0, high = list->count;
    struct timed_launch wanted = {.process = process, .start_ps = start_ps};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (launch_before(&list->items[middle], &wanted, NULL))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where the step of a run begins: with the uploads right before it. */
static int64_t step_start(const struct guessing *guessing, const launch_list *list,
                          const struct program_run *run, const struct program_run *before)
{
    int64_t start = run->start_ps;
    for (size_t at = first_launch(list, run->process, start); at > 0; at--) {
        const struct timed_launch *launch = &list->items[at - 1];
        if (launch->process != run->process || !guessing->is_upload[launch->launch] ||
            (before && launch->start_ps < before->end_ps))
            break;
        start = launch->start_ps;
    }
    return start;
}

/* Turns runs into steps. The last one of a process lasts as long as the longest before it. */
static void make_steps(const struct guessing *guessing, const launch_list *list)
{
    struct analysis *analysis = guessing->analysis;
    const run_list *runs = &guessing->runs;
    int64_t longest = 0, number = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const struct program_run *run = &runs->items[i];
        const struct program_run *before =
            i > 0 && run[-1].process == run->process ? run - 1 : NULL;
        int64_t start = step_start(guessing, list, run, before);
        if (before) {
            struct step *last = &analysis->steps.items[analysis->steps.count - 1];
            last->host_ps = sub_saturated(start, last->start_ps);
            longest = last->host_ps > longest ? last->host_ps : longest;
        } else {
            longest = number = 0;
        }
        int64_t own = sub_saturated(run->end_ps, start);
        *array_push(&analysis->steps) = (struct step){.root = run->root,
                                                      .number = number++,
                                                      .start_ps = start,
                                                      .host_ps = own > longest ? own : longest,
                                                      .device_start_ps = TIME_UNSET,
                                                      .device_end_ps = TIME_UNSET};
    }
}

static bool step_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct step *)a)->start_ps < ((const struct step *)b)->start_ps;
}

/* Everything launched in a step, and what the thread of its root did entirely inside it. */
static void assign_launches(struct analysis *analysis, const launch_list *list)
{
    for (uint32_t i = 0; i < analysis->steps.count; i++) {
        const struct step *step = &analysis->steps.items[i];
        uint32_t process = process_of(analysis, step->root.track);
        int64_t end = add_saturated(step->start_ps, step->host_ps);
        for (size_t at = first_launch(list, process, step->start_ps);
             at < list->count && list->items[at].process == process &&
             list->items[at].start_ps < end;
             at++) {
            const struct event_ref *ref = &analysis->launches.items[list->items[at].launch].event;
            groups_of(analysis, ref->track)[ref->event] = i + 1;
        }
    }
}

/* Steps on one thread do not overlap, and are in time order. */
static void assign_root_lanes(struct analysis *analysis)
{
    struct idmap next = {0}; /* by lane: position of the first event not looked at */
    for (uint32_t i = 0; i < analysis->steps.count; i++) {
        const struct step *step = &analysis->steps.items[i];
        uint32_t track = step->root.track;
        const struct lane_analysis *lane = &analysis->lanes[track];
        const struct lane_events *events = &analysis->trace.lanes[track];
        uint32_t *group = groups_of(analysis, track);
        int64_t end = add_saturated(step->start_ps, step->host_ps);
        uint32_t position = idmap_get(&next, track);
        uint64_t at = position == IDMAP_NONE ? 0 : position;
        for (; at < events->count; at++) {
            uint64_t event = event_at(lane, at);
            touch_event(at);
            if (events->start_ps[event] >= end)
                break;
            if (events->start_ps[event] >= step->start_ps && event_end(events, event) <= end &&
                event_is_timed(events, event) && group[event] == 0)
                group[event] = i + 1;
        }
        idmap_put(&next, track, (uint32_t)(at < IDMAP_NONE ? at : 0));
    }
    idmap_free(&next);
}

static void assign(struct analysis *analysis, const launch_list *launches)
{
    sort_items(analysis->steps.items, analysis->steps.count, sizeof *analysis->steps.items,
               step_before, NULL);
    analysis->columns.group = mem_zeroed(analysis->trace.events, sizeof *analysis->columns.group);
    assign_launches(analysis, launches);
    assign_root_lanes(analysis);
}

/* Sorts guessed steps, and gives them what was launched in them and what their threads did. */
static void assign_guessed_steps(struct analysis *analysis)
{
    launch_list launches = {0};
    list_launches(analysis, &launches);
    assign(analysis, &launches);
    array_free(&launches);
}

/* Runs on TPUs: the modules of one device. */
static void find_device_runs(struct guessing *guessing, uint32_t modules)
{
    const struct analysis *analysis = guessing->analysis;
    const struct lane_events *events = &analysis->trace.lanes[modules];
    for (uint64_t i = 0; i < events->count; i++) {
        struct event_ref ref = {modules, event_at(&analysis->lanes[modules], i)};
        touch_event(i);
        if (!event_is_timed(events, ref.event))
            continue;
        uint32_t number = add_run(guessing, &ref);
        struct program_run *run = &guessing->runs.items[number];
        run->program = analysis->catalog->types.items[events->type[ref.event]].name;
        run->device_ps = sub_saturated(run->end_ps, run->start_ps);
    }
}

/* Gives the modules of a device the steps in which they run for the most part: other chips may
 * begin a little before the one that the steps are from. */
static void assign_modules(struct analysis *analysis, uint32_t modules)
{
    const struct lane_events *events = &analysis->trace.lanes[modules];
    uint32_t *group = groups_of(analysis, modules), step = 0;
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t event = event_at(&analysis->lanes[modules], i);
        touch_event(i);
        int64_t start = events->start_ps[event];
        int64_t middle = start + (event_end(events, event) - start) / 2;
        while (step < analysis->steps.count && analysis->steps.items[step].start_ps <= middle)
            step++;
        group[event] = step;
    }
}

static bool guess_on_tpus(struct guessing *guessing)
{
    struct analysis *analysis = guessing->analysis;
    const struct catalog *catalog = analysis->catalog;
    uint32_t first = TRACK_NONE;
    for (uint32_t i = 0; i < catalog->tracks.count && first == TRACK_NONE; i++)
        if (is_lane_of(&catalog->tracks.items[i], LANE_MODULES))
            first = i;
    if (first == TRACK_NONE)
        return false;
    find_device_runs(guessing, first);
    uint64_t program = main_program(&guessing->runs);
    if (program == 0)
        return false;
    keep_program(&guessing->runs, program);
    launch_list none = {0};
    make_steps(guessing, &none);
    analysis->columns.group = mem_zeroed(analysis->trace.events, sizeof *analysis->columns.group);
    for (uint32_t i = 0; i < catalog->tracks.count; i++)
        if (is_lane_of(&catalog->tracks.items[i], LANE_MODULES))
            assign_modules(analysis, i);
    return true;
}

static bool guess_on_gpus(struct guessing *guessing)
{
    struct analysis *analysis = guessing->analysis;
    guessing->is_upload = mem_zeroed(analysis->launches.count, sizeof *guessing->is_upload);
    guessing->runs.count = 0;
    find_gpu_runs(guessing);
    uint64_t program = main_program(&guessing->runs);
    if (program == 0)
        return false;
    keep_program(&guessing->runs, program);
    launch_list launches = {0};
    list_launches(analysis, &launches);
    make_steps(guessing, &launches);
    assign(analysis, &launches);
    array_free(&launches);
    return true;
}

void guess_steps(struct analysis *analysis)
{
    struct guessing guessing = {.analysis = analysis};
    analysis->step_marks = "the program that takes most time";
    if (guess_on_tpus(&guessing)) {
        analysis->step_origin = STEPS_GUESSED;
    } else if (guess_from_optimizers(analysis)) {
        assign_guessed_steps(analysis);
        analysis->step_origin = STEPS_GUESSED;
        analysis->step_marks = "the steps of the optimizer";
    } else if (guess_on_gpus(&guessing)) {
        analysis->step_origin = STEPS_GUESSED;
    } else if (guess_from_annotations(analysis)) {
        assign_guessed_steps(analysis);
        analysis->step_origin = STEPS_GUESSED;
        analysis->step_marks = "an annotation that repeats";
    }
    array_free(&guessing.runs);
    idmap_free(&guessing.by_id);
    idmap_free(&guessing.by_launch);
    mem_free(guessing.is_upload);
}
