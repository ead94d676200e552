/*
 * Reads a few figures of a stored summary. What is unknown stays NULL.
 */
#include "serve/runs/list_figures.h"

#include "store/tables/store.h"

struct list_figures figures_copy(const struct list_figures *figures)
{
    struct list_figures made = *figures;
    made.format = mem_copy_string(figures->format);
    made.dropped = mem_copy_string(figures->dropped);
    made.model = mem_copy_string(figures->model);
    made.events = mem_copy_string(figures->events);
    made.span_ns = mem_copy_string(figures->span_ns);
    made.step_ns = mem_copy_string(figures->step_ns);
    made.finding = mem_copy_string(figures->finding);
    return made;
}

void figures_free(struct list_figures *figures)
{
    mem_free(figures->format);
    mem_free(figures->dropped);
    mem_free(figures->model);
    mem_free(figures->events);
    mem_free(figures->span_ns);
    mem_free(figures->step_ns);
    mem_free(figures->finding);
    *figures = (struct list_figures){0};
}

/* The member of an object; of kind JSON_NULL if it has none. */
static struct json_value member(struct text object, const char *name)
{
    struct json_reader in = json_read(object);
    struct json_value key, value;
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}'))
        if (json_read_key(&in, &key) && json_read_value(&in, &value) &&
            text_equal(key.text, text_of(name)))
            return value;
    return (struct json_value){.kind = JSON_NULL};
}

static void read_devices(struct list_figures *figures, struct text list)
{
    struct json_reader in = json_read(list);
    struct json_value device;
    figures->has_devices = true;
    for (bool more = json_enter(&in, '['); more; more = json_more(&in, ']')) {
        if (!json_read_value(&in, &device))
            return;
        struct json_value model = member(device.text, "model");
        figures->devices++;
        if (!figures->model && model.kind == JSON_STRING && model.text.size > 0)
            figures->model = json_copy_string(model.text);
    }
}

/* The digits of a number, NULL of anything else. */
static char *number_text(const struct json_value *value)
{
    return value->kind == JSON_NUMBER ? mem_copy_text(value->text.data, value->text.size) : NULL;
}

static void read_steps(struct list_figures *figures, struct text steps)
{
    struct json_value times = member(steps, "step_ns");
    struct json_value median = member(times.text, "p50");
    figures->step_ns = number_text(&median);
}

/* The first of the list costs most. Of its keys those that fit into a row. */
static void read_findings(struct list_figures *figures, struct text list)
{
    static const char *const keys[] = {"rule", "title", "cost_ns", "share", "share_of"};
    struct json_reader in = json_read(list);
    struct json_value finding;
    struct output out;
    struct json json;
    if (!json_enter(&in, '[') || !json_read_value(&in, &finding))
        return;
    output_memory(&out);
    json_begin(&json, &out, false);
    json_open(&json, '{');
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct json_value value = member(finding.text, keys[i]);
        struct text whole = value.text;
        if (value.kind == JSON_STRING) /* with its quotes */
            whole = (struct text){whole.data - 1, whole.size + 2};
        json_key(&json, keys[i]);
        if (whole.size > 0)
            json_copy(&json, whole);
        else
            json_null(&json);
    }
    json_close(&json, '}');
    figures->finding = mem_copy_text(out.data, out.size);
    output_discard(&out);
}

static void read_value(struct list_figures *figures, struct text key,
                       const struct json_value *value)
{
    if (text_equal(key, TEXT("format")) && value->kind == JSON_STRING && !figures->format) {
        figures->format = mem_copy_text(value->text.data, value->text.size);
    } else if (text_equal(key, TEXT("event_count")) && !figures->events) {
        figures->events = number_text(value);
    } else if (text_equal(key, TEXT("span_ns")) && !figures->span_ns) {
        figures->span_ns = number_text(value);
    } else if (text_equal(key, TEXT("findings")) && !figures->finding) {
        read_findings(figures, value->text);
    } else if (text_equal(key, TEXT("steps")) && !figures->step_ns) {
        read_steps(figures, value->text);
    }
}

/* What follows the devices, the rankings, may be long. */
static void read_summary(struct list_figures *figures, const char *directory)
{
    char *path = path_format("%s/%s", directory, SUMMARY_FILE);
    struct file file;
    struct error ignored;
    if (file_open(&file, path, &ignored)) {
        struct json_reader in = json_read((struct text){(const char *)file.data, file.size});
        struct json_value key, value;
        bool is_over = false;
        for (bool more = json_enter(&in, '{'); more && !is_over; more = json_more(&in, '}')) {
            if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
                break;
            is_over = text_equal(key.text, TEXT("devices"));
            if (is_over)
                read_devices(figures, value.text);
            else
                read_value(figures, key.text, &value);
        }
        file_close(&file);
    }
    mem_free(path);
}

struct list_figures figures_read(const char *directory)
{
    struct list_figures figures = {0};
    struct drops drops = profile_drops(directory);
    char text[DROPS_TEXT_SIZE];
    if (drops.dropped > 0)
        figures.dropped = mem_copy_string(drops_text(&drops, text));
    read_summary(&figures, directory);
    return figures;
}
