/*
 * kymo timeline: queries the timeline index for a time window, as JSON.
 */
#include "store/timeline/timeline.h"
#include "cli/cli.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <stdlib.h>

static int timeline(int count, char **arguments);

const struct command command_timeline = {
    .name = "timeline",
    .summary = "Print the timeline of a profile for a time window, as JSON.",
    .about = "Prints the items of a time window as the web page draws them: the events of every "
             "row of every track, with those too close together for a pixel merged into one "
             "item. Counts include all events. PROFILE is a name in the workspace, or the "
             "directory of a profile.",
    .usage = "[options] PROFILE",
    .examples =
        (const char *const[]){
            "gpt",
            "gpt --from 1.5ms --to 2ms --width 1000",
            "gpt --track 12 --track 'XLA Ops' | jq '.tracks[].rows[].items | length'",
            NULL,
        },
    .run = timeline,
};

enum { MAX_TRACKS_NAMED = 64, DEFAULT_WIDTH = 1000, MAX_WIDTH = 1000000 };

struct timeline_options {
    const char *data_path, *from, *to, *file;
    unsigned long width;
    bool pretty;
    struct text_list tracks;
};

/* Parses a decimal exactly, in units of 10^digits_below ps: "1.5ms" is 1500000000 ps. Digits below
 * a picosecond are dropped. */
static bool read_decimal(const char *text, size_t *size, unsigned digits_below, int64_t *value)
{
    const char *at = text;
    bool has_digits = false, below_point = false;
    *value = 0;
    for (;; at++) {
        if (*at == '.' && !below_point) {
            below_point = true;
            continue;
        }
        if (*at < '0' || *at > '9')
            break;
        has_digits = true;
        if (below_point && digits_below == 0)
            continue;
        digits_below -= below_point;
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, *at - '0', value))
            return false;
    }
    *size = (size_t)(at - text);
    for (; digits_below > 0; digits_below--)
        if (__builtin_mul_overflow(*value, 10, value))
            return false;
    return has_digits;
}

/* A time since the start of the profile: a number followed by ps, ns, us, ms or s. */
static bool read_time(const char *text, const char *option, int64_t *time_ps, struct error *err)
{
    static const struct {
        const char *unit;
        unsigned digits; /* decimal digits down to 1 ps */
    } units[] = {{"ps", 0}, {"ns", 3}, {"us", 6}, {"ms", 9}, {"s", 12}};
    bool is_negative = text[0] == '-';
    size_t size;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const char *unit = text + is_negative + strspn(text + is_negative, "0123456789.");
        if (strcmp(unit, units[i].unit) == 0 &&
            read_decimal(text + is_negative, &size, units[i].digits, time_ps) &&
            text + is_negative + size == unit) {
            *time_ps = is_negative ? -*time_ps : *time_ps;
            return true;
        }
    }
    return error_set(err, "--%s needs a time such as 1.5ms (units: ps, ns, us, ms, s), not '%s'",
                     option, text);
}

static bool is_named(const struct timeline *index, uint32_t track, const char *wanted)
{
    char *end;
    unsigned long number = strtoul(wanted, &end, 10);
    if (*wanted && !*end)
        return number == track;
    const struct timeline_track *entry = timeline_track_at(index, track);
    return text_equal(timeline_name_at(index, entry->name), text_of(wanted));
}

typedef ARRAY(uint32_t) track_list;

/* Tracks by number or name including their children; all if none is given. */
static bool choose_tracks(const struct timeline *index, const struct text_list *wanted,
                          track_list *tracks, struct error *err)
{
    uint32_t count = timeline_track_count(index);
    bool *chosen = mem_zeroed(count, sizeof *chosen), ok = true;
    bool found[MAX_TRACKS_NAMED] = {false};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = timeline_track_at(index, i)->parent;
        chosen[i] = wanted->count == 0 || (parent != TIMELINE_NONE && chosen[parent]);
        for (size_t k = 0; k < wanted->count; k++)
            if (is_named(index, i, wanted->items[k]))
                chosen[i] = found[k] = true;
        if (chosen[i] && timeline_track_at(index, i)->events > 0)
            *array_push(tracks) = i;
    }
    for (size_t k = 0; ok && k < wanted->count; k++)
        if (!found[k])
            ok = error_set(err, "no track '%s'; `kymo sql PROFILE 'FROM Track'` lists them",
                           wanted->items[k]);
    mem_free(chosen);
    return ok;
}

static void put_item(struct json *json, const struct timeline *index,
                     const struct timeline_item *item, bool is_counter)
{
    json_open_row(json, '{');
    json_put_int(json, "start_ps", item->start_ps);
    json_put_int(json, "end_ps", item->end_ps);
    json_put_uint(json, "count", item->count);
    if (is_counter) {
        json_put_double(json, "mean", item->sum / (double)item->count);
        json_put_double(json, "min", item->min);
        json_put_double(json, "max", item->max);
        json_put_double(json, "last", item->last);
    } else {
        json_put_int(json, "busy_ps", item->busy_ps);
        json_put_int(json, "longest_ps", item->longest_ps);
        json_put_uint(json, "id", item->id);
        json_put_text(json, "name", timeline_name_at(index, item->name));
    }
    json_close_row(json, '}');
}

static void put_row(struct json *json, const struct timeline *index,
                    const struct timeline_result *answer, const struct timeline_row *row)
{
    bool is_counter = timeline_track_at(index, row->track)->is_counter;
    json_open(json, '{');
    json_put_uint(json, "row", row->row);
    json_key(json, "items");
    json_open(json, '[');
    for (size_t i = 0; i < row->item_count; i++)
        put_item(json, index, &answer->items.items[row->first_item + i], is_counter);
    json_close(json, ']');
    json_close(json, '}');
}

static void put_tracks(struct json *json, const struct timeline *index, const track_list *tracks,
                       const struct timeline_result *answer)
{
    size_t at = 0;
    json_key(json, "tracks");
    json_open(json, '[');
    for (size_t i = 0; i < tracks->count; i++) {
        const struct timeline_track *track = timeline_track_at(index, tracks->items[i]);
        json_open(json, '{');
        json_put_uint(json, "track", tracks->items[i]);
        json_put_text(json, "name", timeline_name_at(index, track->name));
        json_put_text(json, "table", timeline_name_at(index, track->table));
        json_put_uint(json, "event_count", track->events);
        json_put_uint(json, "row_count", track->row_count);
        json_key(json, "rows");
        json_open(json, '[');
        for (; at < answer->rows.count && answer->rows.items[at].track == tracks->items[i]; at++)
            put_row(json, index, answer, &answer->rows.items[at]);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* The window defaults to the whole profile. JSON is written only after the query has succeeded. */
static bool answer_query(struct timeline *index, const struct timeline_options *options,
                         struct output *out, struct error *err)
{
    struct timeline_query query = {.width = (uint32_t)options->width};
    track_list tracks = {0};
    struct timeline_result answer = {0};
    timeline_span(index, &query.from_ps, &query.to_ps);
    query.to_ps = add_saturated(query.to_ps, 1); /* inclusive: the window is half-open */
    bool ok = (!options->from || read_time(options->from, "from", &query.from_ps, err)) &&
              (!options->to || read_time(options->to, "to", &query.to_ps, err)) &&
              choose_tracks(index, &options->tracks, &tracks, err);
    query.tracks = tracks.items;
    query.track_count = tracks.count;
    ok = ok && timeline_query(index, &query, &answer, err);
    if (ok) {
        struct json json;
        json_begin(&json, out, options->pretty);
        json_open(&json, '{');
        json_put_int(&json, "from_ps", query.from_ps);
        json_put_int(&json, "to_ps", query.to_ps);
        json_put_uint(&json, "width", query.width);
        put_tracks(&json, index, &tracks, &answer);
        json_close(&json, '}');
    }
    timeline_result_free(&answer);
    array_free(&tracks);
    return ok;
}

/* Reads the index alone, not the tables: what it prints is what the web page draws. */
static bool run_query(const char *profile, const struct timeline_options *options,
                      struct error *err)
{
    char *directory;
    struct output path, out;
    struct timeline *index;
    if (!profile_find(options->data_path, profile, &directory, err))
        return false;
    warn_of_drops(profile_drops(directory));
    output_memory(&path);
    output_format(&path, "%s/%s", directory, TIMELINE_FILE);
    output_char(&path, '\0');
    bool ok = timeline_open(&index, path.data, err);
    if (ok) {
        ok = output_open(&out, options->file, err);
        if (ok && (ok = answer_query(index, options, &out, err)))
            ok = output_commit(&out, err);
        else
            output_discard(&out);
        timeline_close(index);
    }
    output_discard(&path);
    mem_free(directory);
    return ok;
}

/* --track may be repeated, so its values need room that outlives the parsing: `tracks`. */
static int timeline(int count, char **arguments)
{
    struct timeline_options options = {.width = DEFAULT_WIDTH};
    const char *tracks[MAX_TRACKS_NAMED];
    options.tracks = (struct text_list){.items = tracks, .max = MAX_TRACKS_NAMED};
    const struct option table[] = {
        {"from", 0, OPTION_TEXT, &options.from, "TIME",
         "start of the window, relative to the start of the profile, e.g. 1.5ms (default: first "
         "event)",
         NULL},
        {"to", 0, OPTION_TEXT, &options.to, "TIME", "end of the window (default: last event)",
         NULL},
        {"width", 0, OPTION_NUMBER, &options.width, "N", "width in pixels (default: 1000)", NULL},
        {"track", 0, OPTION_LIST, &options.tracks, "TRACK",
         "a track by number or name, including its children; repeatable (default: all)", NULL},
        {"output-file", 0, OPTION_TEXT, &options.file, "FILE",
         "output file (default: standard output)", NULL},
        {"json-pretty-print", 0, OPTION_FLAG, &options.pretty, NULL, "indent JSON", NULL},
        {"data-path", 0, OPTION_TEXT, &options.data_path, "DIR",
         "workspace directory (default: ~/.local/share/kymo)", NULL},
        LOG_LEVEL_OPTION,
    };
    const char *profile = NULL;
    size_t operands;
    int result = options_read(&command_timeline, table, sizeof table / sizeof *table, count,
                              arguments, &profile, 1, &operands);
    if (result != EXIT_DONE)
        return result;
    if (operands == 0 || options.width == 0 || options.width > MAX_WIDTH) {
        fprintf(stderr, "%s timeline: %s\n", program_name(),
                operands == 0 ? "missing argument: a profile"
                              : "--width must be a number from 1 to 1000000");
        return EXIT_USAGE;
    }
    struct error err;
    if (run_query(profile, &options, &err))
        return EXIT_DONE;
    print_error(&err);
    return EXIT_FAILED;
}
