/*
 * Streams and calls of a GPU recording. Kernels name the operation they were launched for where a
 * graph's node tells it; for launches outside of graphs, the ranges of the launching thread do.
 */
#include "import/recording/gpu.h"

#include "import/neuron/neuron.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { DETAILS_SIZE = 256 };
enum key {
    KEY_CORRELATION,
    KEY_KERNEL,
    KEY_COPY,
    KEY_SET,
    KEY_CONTEXT,
    KEY_OPERATION,
    KEY_MODULE,
    KEY_PROGRAM,
    KEY_NAME,
    KEY_GRAPH,
    KEY_NODE,
    KEY_RESULT,
    KEYS
};
static const char *const key_names[KEYS] = {
    "correlation_id", "kernel_details", "memcpy_details", "memset_details",
    "context_id",     "hlo_op",         "hlo_module",     "program_id",
    "tf_op",          "cuda_graph_id",  "cuda_graph_node_id", "result"};

/* Names of copies as XLA's tracer writes them, by CUPTI's kind. */
static const char *const copy_names[] = {"MemcpyOther", "MemcpyH2D", "MemcpyD2H", "MemcpyH2A",
                                         "MemcpyA2H",   "MemcpyA2A", "MemcpyA2D", "MemcpyD2A",
                                         "MemcpyD2D",   "MemcpyH2H", "MemcpyP2P"};
static const char *const memory_kinds[] = {"unknown", "pageable", "pinned",         "device",
                                           "array",   "managed",  "device_static", "managed_static"};
static const char *const wait_names[] = {"Synchronize", "Event synchronize", "Stream wait event",
                                         "Stream synchronize", "Context synchronize"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* What an NVTX range of XLA says: "Thunk:#name=...,hlo_op=...#", "XlaModule:#hlo_module=...#". */
struct operation_names {
    uint32_t operation, name, module; /* strings, 0 for none */
    uint64_t program;
    bool is_known;
};

struct gpu {
    struct gpu_file file;
    uint32_t keys[KEYS];
    uint32_t *stream_tracks;                    /* by stream; TRACK_NONE until it has an event */
    uint32_t *shape_types, *shape_details;      /* by shape */
    uint32_t copy_types[COUNT(copy_names)], set_type, wait_types[COUNT(wait_names)], graph_type;
    uint32_t *text_types;                       /* of calls, by text; 0 until known */
    ARRAY(struct operation_names) operations;   /* of nodes, by index */
};

/* ---- Names --------------------------------------------------------------------------------- */

/* The C++ name of a symbol; demangling needs the C++ library, which may be missing. */
static char *demangled(const char *name)
{
    static char *(*demangle)(const char *, char *, size_t *, int *);
    static bool was_sought;
    int status;
    if (!was_sought) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        demangle = library ? (char *(*)(const char *, char *, size_t *, int *))dlsym(
                                 library, "__cxa_demangle")
                           : NULL;
        was_sought = true;
    }
    return demangle && strncmp(name, "_Z", 2) == 0 ? demangle(name, NULL, NULL, &status) : NULL;
}

static uint32_t kernel_type(struct recording *recording, struct text symbol)
{
    struct catalog *catalog = &recording->base.source.catalog;
    char *name = mem_copy_text(symbol.data, symbol.size);
    char *plain = demangled(name);
    uint32_t string = catalog_string(catalog, plain ? text_of(plain) : symbol);
    free(plain); /* from the C++ library */
    mem_free(name);
    return named_type(catalog, &recording->base.types, string);
}

static uint32_t plain_type(struct recording *recording, const char *name)
{
    struct catalog *catalog = &recording->base.source.catalog;
    return named_type(catalog, &recording->base.types, catalog_string(catalog, text_of(name)));
}

static const struct gpu_device *device_of(const struct gpu_file *file, uint32_t id)
{
    const struct gpu_device *device;
    array_each (device, &file->devices)
        if (device->id == id)
            return device;
    return NULL;
}

static uint32_t shape_details(struct recording *recording, const struct gpu_file *file,
                              const struct gpu_shape *shape)
{
    char text[DETAILS_SIZE];
    const struct gpu_device *device = device_of(file, 0);
    snprintf(text, sizeof text,
             "regs:%u static_shared:%u dynamic_shared:%u grid:%u,%u,%u block:%u,%u,%u occ_pct:%g",
             shape->registers, shape->static_shared, shape->dynamic_shared, shape->grid[0],
             shape->grid[1], shape->grid[2], shape->block[0], shape->block[1], shape->block[2],
             device ? gpu_occupancy(device, shape) : 0);
    return catalog_string(&recording->base.source.catalog, text_of(text));
}

/* The value of `key=` in a range's text, up to the next comma or '#'. */
static struct text range_value(struct text range, const char *key)
{
    size_t size = strlen(key);
    const char *end = range.data + range.size;
    for (const char *at = range.data; at && (size_t)(end - at) > size;) {
        at = memmem(at, (size_t)(end - at), key, size);
        if (!at)
            break;
        bool is_start = at > range.data && (at[-1] == '#' || at[-1] == ',');
        at += size;
        if (!is_start)
            continue;
        const char *stop = at;
        while (stop < end && *stop != ',' && *stop != '#')
            stop++;
        return (struct text){at, (size_t)(stop - at)};
    }
    return TEXT("");
}

static uint64_t number_of(struct text text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    return number;
}

static void name_operations(struct gpu *gpu, struct catalog *catalog)
{
    for (size_t i = 0; i < gpu->file.node_by_id.entries; i++)
        *array_push(&gpu->operations) = (struct operation_names){0};
    (void)catalog;
}

/* ---- Opening ------------------------------------------------------------------------------- */

static void name_types(struct gpu *gpu, struct recording *recording)
{
    struct catalog *catalog = &recording->base.source.catalog;
    struct gpu_file *file = &gpu->file;
    for (size_t i = 0; i < KEYS; i++)
        gpu->keys[i] = catalog_key(catalog, text_of(key_names[i]));
    gpu->stream_tracks = mem_alloc(file->streams.count * sizeof *gpu->stream_tracks);
    for (size_t i = 0; i < file->streams.count; i++)
        gpu->stream_tracks[i] = TRACK_NONE;
    gpu->shape_types = mem_zeroed(file->shapes.count, sizeof *gpu->shape_types);
    gpu->shape_details = mem_zeroed(file->shapes.count, sizeof *gpu->shape_details);
    for (size_t i = 1; i < file->shapes.count; i++) {
        const struct gpu_shape *shape = &file->shapes.items[i];
        gpu->shape_types[i] = kernel_type(recording, gpu_text(file, shape->name));
        gpu->shape_details[i] = shape_details(recording, file, shape);
    }
    gpu->text_types = mem_zeroed(file->texts.count, sizeof *gpu->text_types);
    for (size_t i = 0; i < COUNT(copy_names); i++)
        gpu->copy_types[i] = plain_type(recording, copy_names[i]);
    for (size_t i = 0; i < COUNT(wait_names); i++)
        gpu->wait_types[i] = plain_type(recording, wait_names[i]);
    gpu->set_type = plain_type(recording, "Memset");
    gpu->graph_type = plain_type(recording, "CUDA graph");
}
