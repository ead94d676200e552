/*
 * kymo view: the device profiles of a capture, as its system profile lists them in JSON.
 */
#include "cli/view_device_list.h"

/* Kept as long as the list. */
static const char *keep(struct device_list *list, const char *text)
{
    char *copy = mem_copy_text(text, strlen(text));
    *array_push(&list->texts) = copy;
    return copy;
}

static void add(struct device_list *list, const char *name, const struct ntff_header *header)
{
    const struct core_hardware *hardware = hardware_core(header->core_version);
    struct json_device device = {.name = keep(list, name),
                                 .instance = keep(list, header->instance_id),
                                 .model_name = keep(list, header->neff_name),
                                 .process = header->process_id,
                                 .logical_core = header->logical_core,
                                 .core = header->core_index};
    if (hardware)
        device.core += (int64_t)header->device_index * hardware->cores_per_chip;
    for (size_t i = 0; i < sizeof device.model; i++)
        device.model = device.model << 8 | header->neff_uuid[i];
    *array_push(&list->items) = device;
}

/* A file that cannot be read is reported when its document is made. */
void device_list_add(struct device_list *list, const struct capture_file *file, const char *name)
{
    struct error ignored;
    struct ntff *ntff = file->is_ntff ? ntff_open(file->path, &ignored) : NULL;
    if (!ntff)
        return;
    add(list, name, ntff_header(ntff));
    ntff_close(ntff);
}

void device_list_free(struct device_list *list)
{
    char **text;
    array_each (text, &list->texts)
        mem_free(*text);
    array_free(&list->texts);
    array_free(&list->items);
}
