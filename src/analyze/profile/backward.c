/*
 * Links calls of a backward pass to the forward pass. Autograd numbers the operators of each thread
 * that runs a forward pass; a call of the backward pass has the number of its operator and the
 * thread's, which is autograd's own count of threads and has to be found: it is the thread whose
 * operators of these numbers have the names that the backward pass says it is of. Where the source
 * does not tell the thread (NVTX), calls of the backward pass are known by their names.
 */
#include "analyze/profile/analysis_passes.h"

#include <ctype.h>

/* A call with a sequence number. */
struct sequenced {
    uint32_t process, track, call;
    int64_t sequence, thread; /* thread: 0 in a forward pass, or NO_FORWARD_THREAD */
    int64_t start_ps;
};
typedef ARRAY(struct sequenced) sequenced_list;

/* How well a track fits as autograd's thread of a number. */
struct vote {
    uint32_t process, track;
    int64_t thread;
    uint64_t named, numbered; /* calls that it has with the right name, with the right number */
    int64_t first_ps;         /* start of the first of these */
};

struct election {
    ARRAY(struct vote) votes;
    struct idmap index; /* hash of process, thread and track */
    struct idmap best;  /* hash of process and thread -> index in votes */
};

/* This many threads may have run operators of one number. */
enum { MAX_CANDIDATES = 64 };

static bool by_sequence(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct sequenced *m = a, *n = b;
    if (m->process != n->process)
        return m->process < n->process;
    if (m->sequence != n->sequence)
        return m->sequence < n->sequence;
    if (m->track != n->track)
        return m->track < n->track;
    return m->start_ps != n->start_ps ? m->start_ps < n->start_ps : m->call < n->call;
}

/* The first entry that comes after `key`. */
static size_t first_after(const sequenced_list *list, const struct sequenced *key)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_sequence(key, &list->items[middle], NULL))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct text name_of(const struct analysis *analysis, uint32_t call)
{
    uint32_t type = analysis->trace.type[analysis->calls.items[call].index];
    return catalog_text(analysis->catalog, analysis->catalog->types.items[type].name);
}

/* What follows the last ':' or space. */
static struct text last_word(struct text name)
{
    size_t at = name.size;
    while (at > 0 && name.data[at - 1] != ':' && name.data[at - 1] != ' ')
        at--;
    return (struct text){name.data + at, name.size - at};
}

/* The number at its end is left out. */
static struct text without_number(struct text name)
{
    while (name.size > 0 && isdigit((unsigned char)name.data[name.size - 1]))
        name.size--;
    return name;
}

static const struct text suffix = {"Backward", 8};

static bool has_suffix(struct text name)
{
    return name.size > suffix.size &&
           memcmp(name.data + name.size - suffix.size, suffix.data, suffix.size) == 0;
}

static bool is_backward(const struct analysis *analysis, const struct mark *mark, uint32_t call)
{
    struct text name = name_of(analysis, call);
    return mark->type > 0 || (mark->type == NO_FORWARD_THREAD &&
                              (text_starts(name, TEXT("autograd::engine::evaluate_function: ")) ||
                               has_suffix(without_number(last_word(name)))));
}

static void list_sequenced(const struct analysis *analysis, sequenced_list *forward,
                           sequenced_list *backward)
{
    for (size_t i = 0; i < analysis->marks.count; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        touch_event(i);
        if (mark->kind != MARK_SEQUENCE)
            continue;
        uint32_t call = find_call(analysis, mark->ref.track, mark->ref.event);
        if (call == NO_INDEX)
            continue;
        *array_push(is_backward(analysis, mark, call) ? backward : forward) = (struct sequenced){
            .process = catalog_ancestor(analysis->catalog, mark->ref.track, TRACK_PROCESS),
            .track = mark->ref.track,
            .call = call,
            .sequence = mark->id,
            .thread = mark->type,
            .start_ps = analysis->trace.start_ps[analysis->calls.items[call].index]};
    }
    sort_items(forward->items, forward->count, sizeof *forward->items, by_sequence, NULL);
}

/* Whether "autograd::engine::evaluate_function: NativeLayerNormBackward0" is of
 * "aten::native_layer_norm". */
static bool is_backward_of(struct text backward, struct text forward)
{
    struct text b = without_number(last_word(backward)), f = last_word(forward);
    if (!has_suffix(b))
        return false;
    b.size -= suffix.size;
    size_t at = 0;
    for (size_t i = 0; i < f.size; i++) {
        if (f.data[i] == '_')
            continue;
        while (at < b.size && b.data[at] == '_')
            at++;
        if (at == b.size ||
            tolower((unsigned char)b.data[at++]) != tolower((unsigned char)f.data[i]))
            return false;
    }
    return at == b.size;
}

static uint64_t thread_key(const struct sequenced *call)
{
    uint64_t identity[2] = {call->process, (uint64_t)call->thread};
    return hash_bytes(identity, sizeof identity);
}

static struct vote *vote_for(struct election *election, const struct sequenced *backward,
                             uint32_t track)
{
    uint64_t identity[3] = {backward->process, (uint64_t)backward->thread, track};
    uint64_t hash = hash_bytes(identity, sizeof identity);
    uint32_t at = idmap_get(&election->index, hash);
    if (at == IDMAP_NONE) {
        at = (uint32_t)election->votes.count;
        idmap_put(&election->index, hash, at);
        *array_push(&election->votes) = (struct vote){.process = backward->process,
                                                      .track = track,
                                                      .thread = backward->thread,
                                                      .first_ps = INT64_MAX};
    }
    return &election->votes.items[at];
}

/* The last call of the sequence number on the track that began before the backward call: of nested
 * operators with one number, the innermost is the one that autograd recorded. */
static const struct sequenced *candidate(const sequenced_list *forward,
                                         const struct sequenced *backward, uint32_t track)
{
    struct sequenced key = *backward;
    key.track = track;
    key.call = NO_INDEX;
    size_t after = first_after(forward, &key);
    const struct sequenced *found = after > 0 ? &forward->items[after - 1] : NULL;
    bool fits = found && found->process == backward->process && found->track == track &&
                found->sequence == backward->sequence;
    return fits ? found : NULL;
}

/* The candidates for a backward call, a track after the other. */
struct candidates {
    const sequenced_list *forward;
    const struct sequenced *backward;
    struct sequenced key; /* behind the calls of the last track */
    unsigned tracks;
};

static struct candidates candidates_for(const sequenced_list *forward,
                                        const struct sequenced *backward)
{
    return (struct candidates){
        forward,
        backward,
        {.process = backward->process, .sequence = backward->sequence, .start_ps = INT64_MIN},
        0};
}

/* NULL behind the last. Tracks whose calls all began later have none. */
static const struct sequenced *next_candidate(struct candidates *list)
{
    const struct sequenced *found = NULL;
    while (!found && list->tracks++ < MAX_CANDIDATES) {
        size_t at = first_after(list->forward, &list->key);
        if (at == list->forward->count)
            break;
        const struct sequenced *first = &list->forward->items[at];
        if (first->process != list->key.process || first->sequence != list->key.sequence)
            break;
        list->key.track = first->track;
        list->key.start_ps = INT64_MAX;
        list->key.call = NO_INDEX;
        found = candidate(list->forward, list->backward, first->track);
    }
    return found;
}

static void vote(const struct analysis *analysis, struct election *election,
                 const sequenced_list *forward, const struct sequenced *backward)
{
    struct candidates list = candidates_for(forward, backward);
    for (const struct sequenced *found; (found = next_candidate(&list));) {
        struct vote *entry = vote_for(election, backward, found->track);
        entry->numbered++;
        entry->first_ps = found->start_ps < entry->first_ps ? found->start_ps : entry->first_ps;
        entry->named +=
            is_backward_of(name_of(analysis, backward->call), name_of(analysis, found->call));
    }
}

/* Of the tracks that have the number, the first that has an operator of the right name. */
static const struct sequenced *named_candidate(const struct analysis *analysis,
                                               const sequenced_list *forward,
                                               const struct sequenced *backward)
{
    struct candidates list = candidates_for(forward, backward);
    const struct sequenced *found = next_candidate(&list);
    while (found &&
           !is_backward_of(name_of(analysis, backward->call), name_of(analysis, found->call)))
        found = next_candidate(&list);
    return found;
}

static bool is_better(const struct vote *a, const struct vote *b)
{
    if (a->named != b->named)
        return a->named > b->named;
    return a->numbered != b->numbered ? a->numbered > b->numbered : a->first_ps < b->first_ps;
}

static void count_votes(struct election *election)
{
    for (uint32_t i = 0; i < election->votes.count; i++) {
        const struct vote *entry = &election->votes.items[i];
        uint64_t key =
            thread_key(&(struct sequenced){.process = entry->process, .thread = entry->thread});
        uint32_t known = idmap_get(&election->best, key);
        const struct vote *best = known == IDMAP_NONE ? NULL : &election->votes.items[known];
        if (!best || is_better(entry, best))
            idmap_put(&election->best, key, i);
    }
}

void link_backward(struct analysis *analysis)
{
    sequenced_list forward = {0}, backward = {0};
    struct election election = {0};
    list_sequenced(analysis, &forward, &backward);
    const struct sequenced *call;
    for (size_t i = 0; i < backward.count && forward.count > 0; i++)
        vote(analysis, &election, &forward, &backward.items[i]);
    count_votes(&election);
    array_each (call, &backward) {
        uint32_t best = idmap_get(&election.best, thread_key(call));
        const struct sequenced *found =
            call->thread == NO_FORWARD_THREAD ? named_candidate(analysis, &forward, call) : NULL;
        if (!found && best != IDMAP_NONE)
            found = candidate(&forward, call, election.votes.items[best].track);
        if (found)
            analysis->calls.items[call->call].forward = found->call;
    }
    array_free(&forward);
    array_free(&backward);
    array_free(&election.votes);
    idmap_free(&election.index);
    idmap_free(&election.best);
}
