/*
 * Schemas are kept in a list that only grows: annotations read it without a lock. Declared here is
 * NVTX's interface for extensions, whose entry point is InitializeInjectionNvtxExtension.
 */
#include "capture/cuda/nvtx_payload.h"

#include "capture/cuda/options/gpu_options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MODULE_PAYLOAD = 2, SLOT_SCHEMA = 0, SLOT_ENUM = 1 };
enum { FIELD_NAMED_ID = 1 << 5, FIELD_SCHEMA_ID = 1 << 8, MOST_ENTRIES = 1024 };
static const uint64_t FIRST_DYNAMIC_ID = (uint64_t)1 << 32;

struct entry {
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail, offset;
    const void *semantics, *reserved;
};

struct schema_attributes {
    uint64_t fields;
    const char *name;
    uint64_t type, flags;
    const struct entry *entries;
    size_t count, size, alignment;
    uint64_t id;
    void *extension;
};

struct enum_entry {
    const char *name;
    uint64_t value;
    int8_t is_flag;
};

struct enum_attributes {
    uint64_t fields;
    const char *name;
    const struct enum_entry *entries;
    size_t count, size;
    uint64_t id;
    void *extension;
};

struct module {
    uint16_t version, size, id, compatible;
    size_t segment_count;
    struct {
        size_t id, slot_count;
        intptr_t *slots;
    } *segments;
};

/* A member of a structure, or a value of an enumeration. */
struct member {
    char *name;
    uint64_t type, value; /* value: of a structure, the offset */
    bool is_left_out;
};

struct schema {
    struct schema *next;
    const void *domain;
    uint64_t id;
    size_t enum_size; /* 0 for structures */
    size_t count;
    struct member members[];
};

static struct schema *_Atomic schemas;

enum form { FORM_NONE, FORM_INT, FORM_UINT, FORM_FLOAT };
static const struct {
    uint8_t form, size;
} types[] = {
    [1] = {FORM_INT, 1},   [2] = {FORM_UINT, 1},  [3] = {FORM_INT, 2},    [4] = {FORM_UINT, 2},
    [5] = {FORM_INT, 4},   [6] = {FORM_UINT, 4},  [7] = {FORM_INT, 8},    [8] = {FORM_UINT, 8},
    [9] = {FORM_INT, 8},   [10] = {FORM_UINT, 8}, [11] = {FORM_INT, 1},   [12] = {FORM_UINT, 1},
    [13] = {FORM_INT, 2},  [14] = {FORM_UINT, 2}, [15] = {FORM_INT, 4},   [16] = {FORM_UINT, 4},
    [17] = {FORM_INT, 8},  [18] = {FORM_UINT, 8}, [19] = {FORM_FLOAT, 4}, [20] = {FORM_FLOAT, 8},
    [22] = {FORM_UINT, 8}, [23] = {FORM_UINT, 8}, [43] = {FORM_FLOAT, 4}, [44] = {FORM_FLOAT, 8},
    [68] = {FORM_UINT, 4}, [69] = {FORM_UINT, 4}, [70] = {FORM_UINT, 8},  [71] = {FORM_UINT, 4},
    [72] = {FORM_UINT, 8}, [73] = {FORM_UINT, 4}, [74] = {FORM_UINT, 8},
};

static const struct schema *find(const void *domain, uint64_t id)
{
    const struct schema *schema = atomic_load_explicit(&schemas, memory_order_acquire);
    while (schema && (schema->domain != domain || schema->id != id))
        schema = schema->next;
    return schema;
}

/* ---- Registration -------------------------------------------------------------------------- */

static struct schema *make(const void *domain, uint64_t id, size_t count)
{
    static _Atomic uint64_t dynamic;
    struct schema *schema =
        count <= MOST_ENTRIES ? calloc(1, sizeof *schema + count * sizeof *schema->members) : NULL;
    if (!schema)
        return NULL;
    schema->domain = domain;
    schema->id = id ? id : FIRST_DYNAMIC_ID + atomic_fetch_add(&dynamic, 1);
    schema->count = count;
    return schema;
}

static uint64_t publish(struct schema *schema)
{
    schema->next = atomic_load(&schemas);
    while (!atomic_compare_exchange_weak(&schemas, &schema->next, schema))
        ;
    return schema->id;
}

/* The size of a member of a structure; 0 when unknown. */
static size_t size_of(const void *domain, uint64_t type)
{
    if (type < sizeof types / sizeof *types)
        return types[type].size;
    const struct schema *schema = find(domain, type);
    return schema ? schema->enum_size : 0;
}

/* Offsets that are not given follow from the natural alignment, up to the first member of unknown
 * size. */
static uint64_t register_schema(const void *domain, const struct schema_attributes *attributes)
{
    if (!attributes || !attributes->entries)
        return 0;
    uint64_t id = attributes->fields & FIELD_SCHEMA_ID ? attributes->id : 0;
    if (id && find(domain, id)) /* it is kept once */
        return id;
    struct schema *schema = make(domain, id, attributes->count);
    if (!schema)
        return 0;
    uint64_t end = 0;
    bool is_known = true;
    for (size_t i = 0; i < schema->count; i++) {
        const struct entry *entry = &attributes->entries[i];
        struct member *member = &schema->members[i];
        size_t size = entry->flags ? 0 : size_of(domain, entry->type);
        is_known = is_known || entry->offset > 0;
        member->name = entry->name ? strdup(entry->name) : NULL;
        member->type = entry->type;
        member->value = entry->offset || size == 0 ? entry->offset : (end + size - 1) / size * size;
        member->is_left_out = !member->name || size == 0 || !is_known;
        is_known = is_known && size > 0;
        end = member->value + size;
    }
    return publish(schema);
}

static uint64_t register_enum(const void *domain, const struct enum_attributes *attributes)
{
    if (!attributes || !attributes->entries)
        return 0;
    uint64_t id = attributes->fields & FIELD_NAMED_ID ? attributes->id : 0;
    if (id && find(domain, id))
        return id;
    struct schema *schema = make(domain, id, attributes->count);
    if (!schema)
        return 0;
    schema->enum_size = attributes->size > 0 && attributes->size <= 8 ? attributes->size : 4;
    for (size_t i = 0; i < schema->count; i++) {
        schema->members[i].name =
            attributes->entries[i].name ? strdup(attributes->entries[i].name) : NULL;
        schema->members[i].value = attributes->entries[i].value;
    }
    return publish(schema);
}

/* The part that records GPUs reports wrong options. */
static void ignore(const struct error *err)
{
    (void)err;
}

KYMO_API int InitializeInjectionNvtxExtension(struct module *module);
KYMO_API int InitializeInjectionNvtxExtension(struct module *module)
{
    struct gpu_options options = GPU_OPTIONS;
    gpu_options_from_environment(&options, ignore);
    if (!options.nvtx || module->id != MODULE_PAYLOAD || module->segment_count == 0 ||
        module->segments[0].slot_count <= SLOT_ENUM)
        return 0;
    module->segments[0].slots[SLOT_SCHEMA] = (intptr_t)register_schema;
    module->segments[0].slots[SLOT_ENUM] = (intptr_t)register_enum;
    return 1;
}

/* ---- Args ---------------------------------------------------------------------------------- */

static struct kymo_arg number_arg(const struct member *member, const uint8_t *at)
{
    size_t size = types[member->type].size;
    uint64_t bits = 0;
    float single;
    double number;
    memcpy(&bits, at, size);
    switch (types[member->type].form) {
    case FORM_UINT:
        return kymo_uint(member->name, bits);
    case FORM_INT:
        return kymo_int(member->name, (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
    default:
        memcpy(&single, at, sizeof single);
        memcpy(&number, &bits, sizeof number);
        return kymo_double(member->name, size == sizeof single ? (double)single : number);
    }
}

static struct kymo_arg enum_arg(const struct member *member, const struct schema *names,
                                const uint8_t *at)
{
    uint64_t value = 0;
    memcpy(&value, at, names->enum_size);
    for (size_t i = 0; i < names->count; i++)
        if (names->members[i].value == value && names->members[i].name)
            return kymo_text(member->name, names->members[i].name);
    return kymo_uint(member->name, value);
}

static size_t structure_args(const struct schema *schema, const struct nvtx_payload *payload,
                             struct kymo_arg *args, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < schema->count && count < room; i++) {
        const struct member *member = &schema->members[i];
        size_t size = member->is_left_out ? 0 : size_of(schema->domain, member->type);
        if (size == 0 || size > payload->size || member->value > payload->size - size)
            continue;
        const uint8_t *at = (const uint8_t *)payload->data + member->value;
        args[count++] = member->type < sizeof types / sizeof *types
                            ? number_arg(member, at)
                            : enum_arg(member, find(schema->domain, member->type), at);
    }
    return count;
}

size_t nvtx_payload_args(const void *domain, const struct nvtx_payload *payloads, size_t count,
                         struct kymo_arg *args, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; payloads && i < count; i++) {
        const struct schema *schema = find(domain, payloads[i].schema);
        if (schema && schema->enum_size == 0 && payloads[i].data)
            used += structure_args(schema, &payloads[i], args + used, room - used);
    }
    return used;
}
