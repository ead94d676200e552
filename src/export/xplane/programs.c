/*
 * XPlane export: HLO programs of other formats, in a plane of their own as XLA writes it. Copies
 * have them as metadata of events, and a merged capture has its own.
 */
#include "export/xplane/writer_passes.h"

#include <stdio.h>

enum { PROTO_STAT = 1, FRAMES = 128 }; /* tags, lengths and numbers of a program's messages */

static bool is_of(const struct xspace *space, const struct program *program, uint32_t host)
{
    return !space->is_copy && !space->guest && program->host == host && program->proto.size > 0;
}

/* "module(id)", by which XProf finds it. */
static size_t program_label(const struct catalog *catalog, const struct program *program,
                            char label[static 512])
{
    struct text name = catalog_text(catalog, program->name);
    int size = snprintf(label, 512, "%.*s(%llu)", (int)(name.size < 480 ? name.size : 480),
                        name.data, (unsigned long long)program->id);
    return (size_t)size;
}

static void put_program(const struct xspace *space, const struct program *program,
                        struct output *out)
{
    char label[512];
    size_t entry = pb_begin(out, XPLANE_EVENT_METADATA);
    pb_put_varint(out, MAP_KEY, program->id);
    size_t value = pb_begin(out, MAP_VALUE);
    pb_put_varint(out, METADATA_ID, program->id);
    struct text name = {label, program_label(space->catalog, program, label)};
    xspace_put_text(space, out, METADATA_NAME, name);
    size_t stat = pb_begin(out, XEVENT_METADATA_STATS);
    pb_put_varint(out, XSTAT_METADATA_ID, PROTO_STAT);
    pb_put_bytes(out, XSTAT_BYTES, program->proto.data, program->proto.size);
    pb_end(out, stat);
    pb_end(out, value);
    pb_end(out, entry);
}

static void put_stat_name(struct output *out)
{
    size_t entry = pb_begin(out, XPLANE_STAT_METADATA);
    pb_put_varint(out, MAP_KEY, PROTO_STAT);
    size_t value = pb_begin(out, MAP_VALUE);
    pb_put_varint(out, METADATA_ID, PROTO_STAT);
    pb_put_text(out, METADATA_NAME, TEXT("Hlo Proto"));
    pb_end(out, value);
    pb_end(out, entry);
}

uint64_t xspace_programs_size(const struct xspace *space, uint32_t host)
{
    uint64_t size = 0;
    const struct program *program;
    array_each (program, &space->catalog->programs)
        if (is_of(space, program, host))
            size += FRAMES + 3 * 512 + program->proto.size;
    return size > 0 ? size + FRAMES : 0;
}

void xspace_write_programs(const struct xspace *space, uint32_t host, struct output *out)
{
    if (xspace_programs_size(space, host) == 0)
        return;
    struct output plane;
    output_memory(&plane);
    size_t message = pb_begin(&plane, XSPACE_PLANES);
    pb_put_text(&plane, XPLANE_NAME, TEXT("/host:metadata"));
    const struct program *program;
    array_each (program, &space->catalog->programs)
        if (is_of(space, program, host))
            put_program(space, program, &plane);
    put_stat_name(&plane);
    pb_end(&plane, message);
    output_write(out, plane.data, plane.size);
    output_discard(&plane);
}
