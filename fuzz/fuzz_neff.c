/*
 * Fuzz target: executables. The first byte chooses what the rest is: a NEFF; a program, whose
 * checksum is corrected so that the decoder and the check see it; a definition, as JSON, in a NEFF
 * that is made around it. Programs that pass the check are walked as a core would walk them.
 */
#include "neuron/program/binary.h"
#include "neuron/program/container.h"
#include "neuron/program/tar.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches the ends of what operands and transfers reach, in memories of the exact size. */
static volatile uint8_t seen;

static void touch(const uint8_t *memory, size_t size, __int128 first, __int128 last)
{
    if (first < 0 || last >= (__int128)size)
        abort();
    seen += memory[(size_t)first];
    seen += memory[(size_t)last];
}

static void walk_operand(const struct operand *operand, const uint8_t *partition, size_t size)
{
    if (operand->memory == MEMORY_NONE)
        return;
    __int128 bytes = dtype_bytes((enum dtype)operand->dtype);
    __int128 first = operand->offset, last = operand->offset + bytes - 1;
    for (int i = 0; i < 4; i++) {
        __int128 reach = (__int128)operand->step[i] * (operand->size[i] - 1) * bytes;
        *(reach < 0 ? &first : &last) += reach;
    }
    touch(partition, operand->memory == MEMORY_PSUM ? PSUM_BYTES : size, first, last);
}

static void walk(const struct core_program *program)
{
    size_t size = hardware_core(program->core_version)->sbuf_bytes;
    uint8_t *partition = calloc(1, size);
    for (unsigned engine = 0; engine < ENGINE_COUNT; engine++)
        for (uint32_t i = 0; i < program->code_count[engine]; i++) {
            const struct instruction *item = &program->code[engine][i];
            walk_operand(&item->dst, partition, size);
            for (unsigned k = 0; k < 3; k++)
                walk_operand(&item->src[k], partition, size);
            if (item->opcode == OP_DMA_TRIGGER)
                seen += (uint8_t)program->blocks[item->index].first;
            if (item->opcode == OP_COMPARE_BRANCH)
                seen += program->code[engine][item->target].opcode;
        }
    free(partition);
}

static void read_program(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(PROGRAM_HEADER_SIZE + size);
    const uint32_t version = PROGRAM_VERSION, crc = crc32_of(0, data, size);
    memcpy(bytes, PROGRAM_MAGIC, PROGRAM_MAGIC_SIZE);
    memcpy(bytes + 8, &version, 4);
    memcpy(bytes + 12, &crc, 4);
    memcpy(bytes + PROGRAM_HEADER_SIZE, data, size);
    struct arena arena = {0};
    struct core_program program;
    struct error err;
    uint32_t workers, *crcs;
    if (program_decode(&program, &workers, &crcs, bytes, PROGRAM_HEADER_SIZE + size, &arena,
                       &err) &&
        program_check(&program, &err)) {
        program_check_ranks(&program, workers, &err);
        walk(&program);
    }
    arena_free(&arena);
    free(bytes);
}

static void read_neff(const uint8_t *data, size_t size)
{
    struct error err;
    struct neff_listing listing;
    struct neff *neff = neff_parse(data, size, "fuzzed", &err);
    if (!neff)
        return;
    const struct neff_info *info = neff_info(neff);
    for (size_t i = 0; i < info->member_count; i++) {
        const struct neff_member *member = &info->members[i];
        seen += (uint8_t)strlen(member->name);
        if (member->size > 0)
            seen += member->data[0] + member->data[member->size - 1];
    }
    for (uint32_t i = 0; i < info->program_count; i++)
        walk(&info->programs[i]);
    if (neff_list(neff, &listing, &err))
        neff_listing_free(&listing);
    neff_close(neff);
}

static void read_definition(const uint8_t *data, size_t size)
{
    struct output archive;
    output_memory(&archive);
    tar_add(&archive, "sg00/def.json", data, size);
    tar_add(&archive, "hlo_stats.json", data, size);
    tar_end(&archive);
    struct neff_header header = {
        .package_version = 2, .header_size = NEFF_HEADER_SIZE, .data_size = archive.size};
    uint8_t *bytes = malloc(NEFF_HEADER_SIZE + archive.size);
    header_encode(&header, bytes);
    memcpy(bytes + NEFF_HEADER_SIZE, archive.data, archive.size);
    read_neff(bytes, NEFF_HEADER_SIZE + archive.size);
    free(bytes);
    output_discard(&archive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *rest = malloc(size); /* of its exact size */
    memcpy(rest, data + 1, size - 1);
    if (data[0] == 'p')
        read_program(rest, size - 1);
    else if (data[0] == 'd')
        read_definition(rest, size - 1);
    else
        read_neff(rest, size - 1);
    free(rest);
    return 0;
}
