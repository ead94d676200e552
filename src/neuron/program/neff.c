/*
 * NEFF files: opening, checking and writing containers.
 */
#include "neuron/program/neff.h"
#include "neuron/program/binary.h"
#include "neuron/program/compressed.h"
#include "neuron/program/container.h"
#include "neuron/program/tar.h"

#include <stdio.h>

#define PRODUCER "kymo " /* in neff_build_version, before the version */

struct neff {
    struct neff_info info;
    struct arena arena; /* names of members, programs */
    struct file file;   /* of neff_open */
    uint8_t *unpacked;  /* NULL: members point into the file */
    member_list members;
    struct intern names;               /* of members */
    ARRAY(size_t) member_of_name;      /* by the name's id: the last member of that name */
    struct core_program *program_list; /* of info.programs */
    char *path;
};

const struct neff_member *neff_find(const struct neff *neff, const char *name)
{
    uint32_t id = intern_find(&neff->names, text_of(name));
    return id == INTERN_NONE || id == 0 ? NULL
                                        : &neff->members.items[neff->member_of_name.items[id]];
}

static void index_members(struct neff *neff)
{
    intern_init(&neff->names);
    *array_push(&neff->member_of_name) = 0; /* the empty name's */
    for (size_t i = 0; i < neff->members.count; i++) {
        uint32_t id = intern_add(&neff->names, text_of(neff->members.items[i].name));
        if (id == neff->member_of_name.count)
            *array_push(&neff->member_of_name) = i;
        else
            neff->member_of_name.items[id] = i;
    }
}

static bool read_archive(struct neff *neff, const uint8_t *bytes, struct error *err)
{
    const uint8_t *archive = bytes + NEFF_HEADER_SIZE;
    size_t size = (size_t)neff->info.header.data_size, unpacked_size;
    if (!archive_unpack(neff->path, archive, size, &neff->unpacked, &unpacked_size, err))
        return false;
    if (neff->unpacked) {
        archive = neff->unpacked;
        size = unpacked_size;
    }
    if (!tar_read(archive, size, neff->path, &neff->arena, &neff->members, err))
        return false;
    if (neff->members.count == 0)
        return error_in_file(err, neff->path, "the NEFF file has no members");
    neff->info.members = neff->members.items;
    neff->info.member_count = neff->members.count;
    index_members(neff);
    return true;
}

static bool find_weights(struct neff *neff, uint32_t graph, struct core_program *program,
                         const uint32_t *crcs, struct error *err)
{
    for (uint32_t i = 0; i < program->variable_count; i++) {
        struct variable *variable = &program->variables[i];
        char name[64];
        if (variable->kind != VARIABLE_WEIGHT)
            continue;
        snprintf(name, sizeof name, NEFF_WEIGHT_MEMBER, graph, i);
        const struct neff_member *member = neff_find(neff, name);
        if (!member)
            return error_set(err, "%s, the data of weight %s, is missing", name, variable->name);
        if (member->size != variable->size)
            return error_set(err, "%s has %zu bytes, which is not the size of weight %s", name,
                             member->size, variable->name);
        if (crc32_of(0, member->data, member->size) != crcs[i])
            return error_set(err, "%s, the data of weight %s, is damaged", name, variable->name);
        variable->data = member->data;
    }
    return true;
}

static bool read_program(struct neff *neff, uint32_t graph, const struct neff_member *member,
                         struct error *err)
{
    struct core_program *program = &neff->program_list[graph];
    uint32_t workers, *crcs;
    if (!program_decode(program, &workers, &crcs, member->data, member->size, &neff->arena, err) ||
        !program_check(program, err) || !program_check_ranks(program, workers, err) ||
        !find_weights(neff, graph, program, crcs, err))
        return false;
    if (graph > 0 && workers != neff->info.worker_count)
        return error_set(err, "it has %u workers, the program of the first core %u", workers,
                         neff->info.worker_count);
    neff->info.worker_count = workers;
    return true;
}

static bool read_programs(struct neff *neff, struct error *err)
{
    neff->info.worker_count = 1;
    neff->program_list = arena_alloc(&neff->arena, NEFF_MAX_PROGRAMS * sizeof *neff->program_list);
    for (uint32_t i = 0; i < NEFF_MAX_PROGRAMS; i++) {
        char name[64];
        struct error reason;
        snprintf(name, sizeof name, NEFF_PROGRAM_MEMBER, i);
        const struct neff_member *member = neff_find(neff, name);
        if (!member)
            break;
        if (!read_program(neff, i, member, &reason))
            return error_in_file(err, neff->path, "%s: %s", name, reason.text);
        neff->info.program_count = i + 1;
    }
    neff->info.programs = neff->info.program_count > 0 ? neff->program_list : NULL;
    return true;
}

static bool parse(struct neff *neff, const void *bytes, size_t size, struct error *err)
{
    return header_decode(&neff->info.header, bytes, size, neff->path, err) &&
           read_archive(neff, bytes, err) && read_programs(neff, err) &&
           member_read_stats(neff->path, neff_find(neff, "hlo_stats.json"), &neff->info.mac_count,
                             err);
}

static struct neff *new_neff(const char *path)
{
    struct neff *neff = mem_zeroed(1, sizeof *neff);
    neff->path = mem_copy_text(path, strlen(path));
    return neff;
}

struct neff *neff_parse(const void *bytes, size_t size, const char *path, struct error *err)
{
    struct neff *neff = new_neff(path);
    if (parse(neff, bytes, size, err))
        return neff;
    neff_close(neff);
    return NULL;
}

static void digest_of(const void *data, size_t size, uint8_t digest[static SHA256_SIZE])
{
    struct sha256 sha;
    sha256_begin(&sha);
    sha256_add(&sha, data, size);
    sha256_end(&sha, digest);
}

bool neff_check_hash(const void *bytes, size_t size, const char *path, struct error *err)
{
    struct neff_header header;
    uint8_t digest[SHA256_SIZE];
    if (!header_decode(&header, bytes, size, path, err))
        return false;
    if (strncmp(header.build_version, PRODUCER, strlen(PRODUCER)) != 0)
        return true;
    digest_of((const uint8_t *)bytes + NEFF_HEADER_SIZE, (size_t)header.data_size, digest);
    return memcmp(digest, header.hash, sizeof digest) == 0 ||
           error_in_file(err, path,
                         "the NEFF file is damaged: its data does not match the SHA-256 in the "
                         "header (hash)");
}

struct neff *neff_open(const char *path, struct error *err)
{
    struct neff *neff = new_neff(path);
    if (file_open(&neff->file, path, err) &&
        neff_check_hash(neff->file.data, neff->file.size, path, err) &&
        parse(neff, neff->file.data, neff->file.size, err))
        return neff;
    neff_close(neff);
    return NULL;
}

void neff_close(struct neff *neff)
{
    if (!neff)
        return;
    arena_free(&neff->arena);
    array_free(&neff->members);
    array_free(&neff->member_of_name);
    if (neff->names.slots)
        intern_free(&neff->names);
    mem_free(neff->unpacked);
    file_close(&neff->file);
    mem_free(neff->path);
    mem_free(neff);
}

const struct neff_info *neff_info(const struct neff *neff)
{
    return &neff->info;
}

const char *neff_path(const struct neff *neff)
{
    return neff->path;
}

bool neff_is_runnable(const struct neff *neff, struct error *err)
{
    if (neff->info.program_count > 0)
        return true;
    return error_in_file(err, neff->path,
                         "its engine programs were made by another compiler, for hardware; Kymo's "
                         "cores run what `kymo neff build` makes");
}

static bool check_source(const struct neff_source *source, struct error *err)
{
    if (source->program_count == 0 || source->program_count > NEFF_MAX_PROGRAMS)
        return error_set(err, "a NEFF has 1 to %d programs, not %u", NEFF_MAX_PROGRAMS,
                         source->program_count);
    for (uint32_t i = 0; i < source->program_count; i++)
        if (!program_check(&source->programs[i], err) ||
            !program_check_ranks(&source->programs[i], source->worker_count, err))
            return false;
    for (size_t i = 0; i < source->extra_count; i++)
        if (strlen(source->extra[i].name) > NEFF_NAME_MAX)
            return error_set(err, "the name of member %s is too long", source->extra[i].name);
    return true;
}

static void add_program(struct output *archive, const struct neff_source *source, uint32_t graph)
{
    const struct core_program *program = &source->programs[graph];
    struct output encoded;
    char name[64];
    output_memory(&encoded);
    program_encode(program, source->worker_count, &encoded);
    snprintf(name, sizeof name, NEFF_PROGRAM_MEMBER, graph);
    tar_add(archive, name, encoded.data, encoded.size);
    output_discard(&encoded);
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct variable *variable = &program->variables[i];
        if (variable->kind != VARIABLE_WEIGHT)
            continue;
        snprintf(name, sizeof name, NEFF_WEIGHT_MEMBER, graph, i);
        tar_add(archive, name, variable->data, variable->size);
    }
}

/* A UUID of version 8, made of the archive's digest: the same whether it is compressed or not. */
static void make_uuid(uint8_t uuid[16], const uint8_t *digest)
{
    memcpy(uuid, digest, 16);
    uuid[6] = (uint8_t)((uuid[6] & 0x0F) | 0x80);
    uuid[8] = (uint8_t)((uuid[8] & 0x3F) | 0x80);
}

/* The uuid is made of the uncompressed archive, the hash of what is written: compressing a file
 * changes its hash, not its identity. No time or path gets in, so equal sources give equal
 * bytes. */
bool neff_encode(const struct neff_source *source, uint8_t **bytes, size_t *size, struct error *err)
{
    if (!check_source(source, err))
        return false;
    struct output archive;
    output_memory(&archive);
    members_add(&archive, source);
    for (uint32_t i = 0; i < source->program_count; i++)
        add_program(&archive, source, i);
    for (size_t i = 0; i < source->extra_count; i++)
        tar_add(&archive, source->extra[i].name, source->extra[i].data, source->extra[i].size);
    tar_end(&archive);
    struct neff_header header = {.package_version = 2,
                                 .header_size = NEFF_HEADER_SIZE,
                                 .version_major = 1,
                                 .build_version = PRODUCER KYMO_VERSION,
                                 .core_count = source->program_count,
                                 .requested_core_count = source->program_count,
                                 .logical_core_size = source->program_count};
    snprintf(header.name, sizeof header.name, "%s", source->name);
    digest_of(archive.data, archive.size, header.hash);
    make_uuid(header.uuid, header.hash);
    if (source->compress) {
        if (!archive_pack(&archive, err)) {
            output_discard(&archive);
            return false;
        }
        digest_of(archive.data, archive.size, header.hash);
    }
    header.data_size = archive.size;
    *size = NEFF_HEADER_SIZE + archive.size;
    *bytes = mem_alloc(*size);
    header_encode(&header, *bytes);
    memcpy(*bytes + NEFF_HEADER_SIZE, archive.data, archive.size);
    output_discard(&archive);
    return true;
}
