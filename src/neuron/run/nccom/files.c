/*
 * The JSON files: replica groups, source and target pairs, sizes of operations of variable size.
 */
#include "neuron/run/nccom/nccom.h"

#include "base/wire/wire.h"

#include <inttypes.h>

typedef ARRAY(uint64_t) number_list;

struct reader {
    struct file file;
    struct json_reader in;
    const char *path;
    struct error *err;
};

static bool open_file(struct reader *reader, const char *path, struct error *err)
{
    *reader = (struct reader){.path = path, .err = err};
    if (!file_open(&reader->file, path, err))
        return false;
    reader->in = json_read((struct text){(const char *)reader->file.data, reader->file.size});
    return true;
}

/* Ends the reading: a problem that was found becomes the error. */
static bool close_file(struct reader *reader, bool ok)
{
    const char *problem = reader->in.problem;
    uint64_t offset = (uint64_t)(reader->in.at - (const char *)reader->file.data);
    file_close(&reader->file);
    if (problem)
        return error_at(reader->err, reader->path, offset, "%s", problem);
    return ok;
}

/* Enters the member of an object, all of it: whether it is there. */
static bool find_member(struct reader *reader, const char *name, struct json_reader *member)
{
    struct json_value key, value;
    bool is_there = false;
    for (bool more = json_enter(&reader->in, '{'); more; more = json_more(&reader->in, '}')) {
        if (!json_read_key(&reader->in, &key) || !json_read_value(&reader->in, &value))
            return false;
        if (text_equal(key.text, text_of(name))) {
            *member = json_read(value.text);
            is_there = true;
        }
    }
    return is_there && !reader->in.problem;
}

static bool read_number(struct json_reader *in, uint64_t *value)
{
    struct json_number number;
    char next;
    if (!json_peek(in, &next) || !json_read_number(in, &number))
        return false;
    *value = number.digits;
    return (number.is_whole && !number.is_negative && !number.is_rounded) ||
           json_fail(in, "expected a whole number");
}

static bool read_numbers(struct json_reader *in, number_list *numbers)
{
    numbers->count = 0;
    for (bool more = json_enter(in, '['); more; more = json_more(in, ']'))
        if (!read_number(in, array_push(numbers)))
            return false;
    return !in->problem;
}

/* A list of lists of ranks, which are equally long. */
static bool read_lists(struct json_reader *in, struct nccom_groups *groups)
{
    number_list numbers = {0};
    bool ok = true;
    for (bool more = json_enter(in, '['); ok && more; more = json_more(in, ']')) {
        ok = read_numbers(in, &numbers);
        if (ok && (numbers.count == 0 || (groups->count > 0 && numbers.count != groups->size)))
            ok = json_fail(in, "expected lists of ranks that are equally long");
        groups->size = (uint32_t)numbers.count;
        groups->ranks = mem_resize(groups->ranks, (size_t)(groups->count + 1) * (groups->size + 1),
                                   sizeof *groups->ranks);
        for (size_t i = 0; ok && i < numbers.count; i++) {
            ok = numbers.items[i] < UINT32_MAX || json_fail(in, "no such rank");
            groups->ranks[(size_t)groups->count * groups->size + i] = (uint32_t)numbers.items[i];
        }
        groups->count++;
    }
    array_free(&numbers);
    return ok && !in->problem;
}

/* The entry of an operation, or the only one. */
static bool read_entry(struct reader *reader, const char *name, uint32_t index,
                       struct nccom_groups *groups)
{
    struct json_reader in;
    if (!find_member(reader, name, &in))
        return error_in_file(reader->err, reader->path, "expected an object with \"%s\"", name);
    uint32_t entry = 0;
    struct json_value value;
    struct text chosen = {0};
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']'), entry++) {
        if (!json_read_value(&in, &value))
            break;
        if (entry == 0 || entry == index)
            chosen = value.text;
    }
    if (!in.problem && (entry == 0 || (entry > 1 && index >= entry)))
        return error_in_file(reader->err, reader->path,
                             "\"%s\" has %u entries: expected one, or one for each operation", name,
                             entry);
    struct json_reader lists = json_read(chosen);
    bool ok = !in.problem && read_lists(&lists, groups);
    if (!ok && (in.problem || lists.problem)) {
        reader->in.at = in.problem ? in.at : lists.at;
        reader->in.problem = in.problem ? in.problem : lists.problem;
    }
    return ok;
}

static bool read_file(const char *path, const char *name, uint32_t index,
                      struct nccom_groups *groups, struct error *err)
{
    struct reader reader;
    *groups = (struct nccom_groups){0};
    bool ok = open_file(&reader, path, err) &&
              close_file(&reader, read_entry(&reader, name, index, groups));
    if (!ok) {
        mem_free(groups->ranks);
        *groups = (struct nccom_groups){0};
    }
    return ok;
}

bool nccom_read_groups(const char *path, uint32_t index, struct nccom_groups *groups,
                       struct error *err)
{
    return read_file(path, "replica_groups", index, groups, err);
}

bool nccom_read_pairs(const char *path, uint32_t index, struct nccom_groups *pairs,
                      struct error *err)
{
    return read_file(path, "src_target_pairs", index, pairs, err) &&
           (pairs->size == 2 ||
            error_in_file(err, path, "expected pairs of ranks, a source and a target"));
}

/* ---- Metadata ------------------------------------------------------------------------------ */

static const char *const count_names[] = {"send_counts", "send_displs", "recv_counts",
                                          "recv_displs"};
enum { COUNT_LISTS = sizeof count_names / sizeof *count_names };

/* The lists of one entry, in the order of count_names. */
static void count_lists(struct nccom_counts *counts, uint64_t **lists[static COUNT_LISTS])
{
    lists[0] = &counts->send_counts;
    lists[1] = &counts->send_displs;
    lists[2] = &counts->recv_counts;
    lists[3] = &counts->recv_displs;
}

static bool read_list(struct json_reader *in, struct text name, struct nccom_metadata *metadata,
                      struct nccom_counts *counts)
{
    uint64_t **lists[COUNT_LISTS];
    count_lists(counts, lists);
    for (size_t i = 0; i < COUNT_LISTS; i++) {
        if (!text_equal(name, text_of(count_names[i])))
            continue;
        number_list numbers = {0};
        bool ok = read_numbers(in, &numbers);
        if (ok && metadata->group_size > 0 && numbers.count != metadata->group_size)
            ok = json_fail(in, "expected lists that are equally long");
        metadata->group_size = (uint32_t)numbers.count;
        mem_free(*lists[i]);
        *lists[i] = numbers.items;
        return ok;
    }
    return json_fail(in, "expected send_counts, send_displs, recv_counts or recv_displs");
}

static bool read_counts(struct json_reader *in, struct nccom_metadata *metadata)
{
    metadata->entries =
        mem_resize(metadata->entries, metadata->entry_count + 1, sizeof *metadata->entries);
    struct nccom_counts *counts = &metadata->entries[metadata->entry_count++];
    struct json_value key;
    *counts = (struct nccom_counts){0};
    for (bool more = json_enter(in, '{'); more; more = json_more(in, '}'))
        if (!json_read_key(in, &key) || !read_list(in, key.text, metadata, counts))
            return false;
    if (in->problem)
        return false;
    return (counts->send_counts && counts->send_displs && counts->recv_counts &&
            counts->recv_displs) ||
           json_fail(in, "expected send_counts, send_displs, recv_counts and recv_displs");
}

static bool read_metadata(struct reader *reader, struct nccom_metadata *metadata)
{
    struct json_reader in, start = reader->in;
    if (!find_member(reader, "metadata", &in)) {
        reader->in = start;
        if (!find_member(reader, "alltoallv_metadata", &in))
            return error_in_file(reader->err, reader->path, "expected an object with \"metadata\"");
    }
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']'))
        if (!read_counts(&in, metadata))
            break;
    if (in.problem) {
        reader->in.at = in.at;
        reader->in.problem = in.problem;
    }
    return metadata->entry_count > 0 || in.problem ||
           error_in_file(reader->err, reader->path, "the metadata is empty");
}

bool nccom_read_metadata(const char *path, struct nccom_metadata *metadata, struct error *err)
{
    struct reader reader;
    *metadata = (struct nccom_metadata){0};
    return open_file(&reader, path, err) && close_file(&reader, read_metadata(&reader, metadata));
}

static void free_metadata(struct nccom_metadata *metadata)
{
    for (uint32_t i = 0; i < metadata->entry_count; i++) {
        uint64_t **lists[COUNT_LISTS];
        count_lists(&metadata->entries[i], lists);
        for (size_t k = 0; k < COUNT_LISTS; k++)
            mem_free(*lists[k]);
    }
    mem_free(metadata->entries);
    *metadata = (struct nccom_metadata){0};
}

/* ---- Groups, streams ----------------------------------------------------------------------- */

bool nccom_spread_groups(uint32_t workers, uint32_t size, struct nccom_groups *groups,
                         struct error *err)
{
    if (size == 0 || workers % size != 0)
        return error_set(err, "%u workers cannot be divided into groups of %u", workers, size);
    *groups = (struct nccom_groups){.size = size, .count = workers / size};
    groups->ranks = mem_alloc((size_t)workers * sizeof *groups->ranks);
    for (uint32_t i = 0; i < workers; i++)
        groups->ranks[i] = i / size + i % size * groups->count;
    return true;
}

void nccom_stream_free(struct nccom_stream *stream)
{
    mem_free(stream->groups.ranks);
    mem_free(stream->pairs.ranks);
    free_metadata(&stream->metadata);
    stream->groups = stream->pairs = (struct nccom_groups){0};
}
