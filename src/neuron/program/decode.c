/*
 * Reads programs. A reader that has failed returns zeros, so that errors are checked once per list;
 * counts are compared with the remaining bytes before anything is allocated.
 */
#include "neuron/program/binary.h"

struct reader {
    struct pb_reader in;
    struct arena *arena;
    const char **texts;
    uint64_t text_count;
};

static void fail(struct reader *reader, const char *problem)
{
    if (!reader->in.problem)
        reader->in.problem = problem;
    reader->in.at = reader->in.end;
}

static inline uint64_t get_number(struct reader *reader)
{
    uint64_t value;
    if (__builtin_expect(pb_varint(&reader->in, &value), true))
        return value;
    fail(reader, "it is cut off");
    return 0;
}

static inline uint32_t get_u32(struct reader *reader)
{
    uint64_t value = get_number(reader);
    if (value > UINT32_MAX)
        fail(reader, "a number is too large");
    return (uint32_t)value;
}

static inline uint16_t get_u16(struct reader *reader)
{
    uint64_t value = get_number(reader);
    if (value > UINT16_MAX)
        fail(reader, "a number is too large");
    return (uint16_t)value;
}

static inline int64_t get_signed(struct reader *reader)
{
    return unzigzag(get_number(reader));
}

static inline uint32_t get_changed(struct reader *reader, uint32_t before)
{
    int64_t value = 0;
    if (__builtin_add_overflow(before, get_signed(reader), &value) || value < 0 ||
        value > UINT32_MAX)
        fail(reader, "a difference is out of range");
    return (uint32_t)value;
}

static inline uint8_t get_byte(struct reader *reader)
{
    if (reader->in.at < reader->in.end)
        return *reader->in.at++;
    fail(reader, "it is cut off");
    return 0;
}

/* The count of a list whose items take at least this many bytes each. */
static uint32_t get_count(struct reader *reader, size_t item_bytes)
{
    uint64_t count = get_number(reader);
    if (count > (size_t)(reader->in.end - reader->in.at) / item_bytes || count >= UINT32_MAX) {
        fail(reader, "a list is longer than the file");
        return 0;
    }
    return (uint32_t)count;
}

static void *make_list(struct reader *reader, uint32_t count, size_t size)
{
    return count > 0 ? arena_alloc(reader->arena, count * size) : NULL;
}

static const char *get_text(struct reader *reader)
{
    uint64_t number = get_number(reader);
    if (number < reader->text_count)
        return reader->texts[number];
    fail(reader, "a text is not in the list of texts");
    return "";
}

static void get_texts(struct reader *reader)
{
    uint32_t count = get_count(reader, 1);
    reader->texts = make_list(reader, count, sizeof *reader->texts);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = get_number(reader);
        if (size > (size_t)(reader->in.end - reader->in.at) ||
            (size > 0 && memchr(reader->in.at, '\0', size))) {
            fail(reader, "a text is longer than the file, or contains a NUL");
            return;
        }
        reader->texts[i] = arena_copy_text(reader->arena, (const char *)reader->in.at, size);
        reader->in.at += size;
        reader->text_count = i + 1;
    }
}

static void get_operand(struct reader *reader, struct operand *operand)
{
    unsigned mask = get_byte(reader);
    if (mask & OPERAND_OFFSET)
        operand->offset = get_changed(reader, operand->offset);
    if (mask & OPERAND_PLACE) {
        operand->memory = get_byte(reader);
        operand->dtype = get_byte(reader);
        operand->partition = get_byte(reader);
        operand->partitions = get_byte(reader);
    }
    for (unsigned i = 0; mask >= OPERAND_DIMENSION && i < 4; i++)
        if (mask & (unsigned)OPERAND_DIMENSION << i) {
            int64_t step = get_signed(reader);
            if (step < INT32_MIN || step > INT32_MAX)
                fail(reader, "a step is too large");
            operand->step[i] = (int32_t)step;
            operand->size[i] = get_u32(reader);
        }
    if (mask & ~(unsigned)OPERAND_ALL)
        fail(reader, "an operand has an unknown field");
}

/* Fields that few instructions have. */
static void get_rare(struct reader *reader, unsigned mask, struct instruction *item)
{
    if (mask & FIELD_UPDATE_KIND) {
        item->update_kind = get_byte(reader);
        item->update_time = get_byte(reader);
    }
    if (mask & FIELD_COUNT)
        item->count = get_u16(reader);
    if (mask & FIELD_TARGET)
        item->target = get_changed(reader, item->target);
    for (unsigned i = 0; i < 2; i++)
        if (mask & (unsigned)FIELD_IMMEDIATE << i) {
            if (reader->in.end - reader->in.at < 8) {
                fail(reader, "it is cut off");
                return;
            }
            memcpy(&item->immediate_int[i], reader->in.at, 8);
            reader->in.at += 8;
        }
    if (mask & ~(unsigned)FIELD_ALL)
        fail(reader, "an instruction has an unknown field");
}

/* The item begins as a copy of the last instruction with the same opcode; only fields in the mask
 * are read. The rare ones are in a function of their own, so that this one stays small. */
static void get_instruction(struct reader *reader, struct instruction *item)
{
    unsigned mask = get_u32(reader);
    if (mask & FIELD_ALU) {
        item->alu = get_byte(reader);
        item->alu2 = get_byte(reader);
        item->flags = get_byte(reader);
    }
    if (mask & FIELD_WAIT_SEMAPHORE)
        item->wait_semaphore = get_u16(reader);
    if (mask & FIELD_WAIT_VALUE)
        item->wait_value = get_changed(reader, item->wait_value);
    if (mask & FIELD_DST)
        get_operand(reader, &item->dst);
    for (unsigned i = 0; i < 3; i++)
        if (mask & (unsigned)FIELD_SRC << i)
            get_operand(reader, &item->src[i]);
    if (mask & FIELD_ORIGIN)
        item->origin = get_changed(reader, item->origin);
    if (mask & FIELD_UPDATE_SEMAPHORE)
        item->update_semaphore = get_u16(reader);
    if (mask & FIELD_UPDATE_VALUE)
        item->update_value = get_changed(reader, item->update_value);
    if (mask & FIELD_INDEX)
        item->index = get_changed(reader, item->index);
    if (mask >= FIELD_UPDATE_KIND)
        get_rare(reader, mask, item);
}

static void get_code(struct reader *reader, struct core_program *program, unsigned engine)
{
    enum { MIN_BYTES = 2 };
    struct instruction blanks[OP_COUNT];
    const struct instruction *before[OP_COUNT];
    for (unsigned i = 0; i < OP_COUNT; i++) {
        blanks[i] = instruction_blank((uint8_t)i);
        before[i] = &blanks[i];
    }
    uint32_t count = get_count(reader, MIN_BYTES);
    struct instruction *code = make_list(reader, count, sizeof *code);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t opcode = get_byte(reader);
        if (opcode >= OP_COUNT || reader->in.problem) {
            fail(reader, "an opcode is unknown");
            return;
        }
        code[i] = *before[opcode];
        get_instruction(reader, &code[i]);
        before[opcode] = &code[i];
    }
    program->code[engine] = code;
    program->code_count[engine] = count;
}

static void get_end(struct reader *reader, struct dma_end *end)
{
    uint64_t mask = get_number(reader);
    if (mask & END_OFFSET)
        end->offset += (uint64_t)get_signed(reader);
    if (mask & END_PLACE) {
        end->memory = get_byte(reader);
        end->dtype = get_byte(reader);
        end->partition = get_byte(reader);
        end->offset_register = get_byte(reader);
    }
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++)
        if (mask & (unsigned)END_DIMENSION << i) {
            end->step[i] = get_signed(reader);
            end->size[i] = get_u32(reader);
        }
    if (mask & END_VARIABLE)
        end->variable = get_u32(reader);
    if (mask & END_REGISTER_STEP)
        end->register_step = get_number(reader);
    if (mask & ~(uint64_t)END_ALL)
        fail(reader, "a DMA transfer has an unknown field");
}

/* Each begins as a copy of the one before it. After a failure the reader gives zeros, so the loop
 * runs to its end without harm: the count was bounded by the file's size. */
static void get_descriptors(struct reader *reader, struct core_program *program)
{
    enum { MIN_BYTES = 3 };
    uint32_t count = get_count(reader, MIN_BYTES);
    struct dma_descriptor *items = make_list(reader, count, sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        struct dma_descriptor *item = &items[i];
        *item = i > 0 ? items[i - 1] : (struct dma_descriptor){0};
        unsigned mask = get_byte(reader);
        if (mask & DESCRIPTOR_FROM)
            get_end(reader, &item->from);
        if (mask & DESCRIPTOR_TO)
            get_end(reader, &item->to);
        if (mask & DESCRIPTOR_KIND) {
            item->operation = get_byte(reader);
            item->indirect = get_byte(reader);
        }
        if (mask & DESCRIPTOR_INDICES)
            get_operand(reader, &item->indices);
        if (mask & DESCRIPTOR_LIMIT)
            item->index_limit = get_number(reader);
        if (mask & ~(unsigned)DESCRIPTOR_ALL)
            fail(reader, "a DMA descriptor has an unknown field");
    }
    program->descriptors = items;
    program->descriptor_count = count;
}

static void get_blocks(struct reader *reader, struct core_program *program)
{
    enum { MIN_BYTES = 5 };
    uint32_t count = get_count(reader, MIN_BYTES), next = 0;
    struct dma_block *items = make_list(reader, count, sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = get_changed(reader, next), length = get_u32(reader);
        items[i] = (struct dma_block){.first = first, .count = length, .queue = get_u32(reader)};
        items[i].semaphore = get_u16(reader);
        items[i].increment = get_u16(reader);
        next = first + length;
    }
    program->blocks = items;
    program->block_count = count;
}

static void get_queues(struct reader *reader, struct core_program *program)
{
    enum { MIN_BYTES = 5 };
    uint32_t count = get_count(reader, MIN_BYTES);
    struct dma_queue *items = make_list(reader, count, sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct dma_queue){.name = get_text(reader)};
        items[i].kind = get_byte(reader);
        items[i].engine = get_byte(reader);
        items[i].rings = get_byte(reader);
        items[i].first_ring = get_byte(reader);
    }
    program->queues = items;
    program->queue_count = count;
}

/* The loop over dimensions has a constant bound, so that a rank too large fails without writing
 * beyond the shape. Checksums of weights go to a list of their own: the data is not here. */
static void get_variables(struct reader *reader, struct core_program *program, uint32_t **crcs)
{
    enum { MIN_BYTES = 7 };
    uint32_t count = get_count(reader, MIN_BYTES);
    struct variable *items = make_list(reader, count, sizeof *items);
    *crcs = make_list(reader, count, sizeof **crcs);
    for (uint32_t i = 0; i < count; i++) {
        struct variable *item = &items[i];
        *item = (struct variable){.name = get_text(reader)};
        item->layer = get_text(reader);
        item->kind = get_byte(reader);
        item->dtype = get_byte(reader);
        item->rank = get_byte(reader);
        if (item->rank > SHAPE_MAX)
            fail(reader, "a variable has too many dimensions");
        for (unsigned k = 0; k < SHAPE_MAX; k++)
            if (k < item->rank)
                item->shape[k] = get_u32(reader);
        item->size = get_number(reader);
        item->backing_offset = get_number(reader);
        (*crcs)[i] = item->kind == VARIABLE_WEIGHT ? get_u32(reader) : 0;
    }
    program->variables = items;
    program->variable_count = count;
}

static const uint32_t *get_members(struct reader *reader, const struct collective *item)
{
    uint64_t count = (uint64_t)item->group_count * item->group_size;
    if (count > (size_t)(reader->in.end - reader->in.at)) {
        fail(reader, "a list of ranks is longer than the file");
        return NULL;
    }
    uint32_t *members = make_list(reader, (uint32_t)count, sizeof *members);
    for (uint64_t i = 0; i < count; i++)
        members[i] = get_u32(reader);
    return members;
}

static void get_moves(struct reader *reader, struct collective *item)
{
    enum { MIN_BYTES = 5 };
    item->move_count = get_count(reader, MIN_BYTES);
    struct collective_move *moves = make_list(reader, item->move_count, sizeof *moves);
    for (uint32_t i = 0; i < item->move_count; i++) {
        moves[i].source = get_u32(reader);
        moves[i].target = get_u32(reader);
        moves[i].from = get_number(reader);
        moves[i].to = get_number(reader);
        moves[i].bytes = get_number(reader);
    }
    item->moves = moves;
}

/* Lists of ranks and moves are only bounded by the bytes that are left; whether they make sense is
 * checked later, with the number of ranks. */
static void get_collectives(struct reader *reader, struct core_program *program)
{
    enum { MIN_BYTES = 14 };
    uint32_t count = get_count(reader, MIN_BYTES);
    struct collective *items = make_list(reader, count, sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        struct collective *item = &items[i];
        *item = (struct collective){.kind = get_byte(reader)};
        item->dtype = get_byte(reader);
        item->alu = get_byte(reader);
        item->semaphore = get_u16(reader);
        item->increment = get_u16(reader);
        item->input = get_u32(reader);
        item->output = get_u32(reader);
        item->input_offset = get_number(reader);
        item->output_offset = get_number(reader);
        item->input_bytes = get_number(reader);
        item->output_bytes = get_number(reader);
        item->group_size = get_u32(reader);
        item->group_count = get_u32(reader);
        item->channel = get_u32(reader);
        item->members = get_members(reader, item);
        if (item->kind == COLLECTIVE_ALL_TO_ALL_V)
            get_moves(reader, item);
    }
    program->collectives = items;
    program->collective_count = count;
}

/* Two lists in a row: origins, then the stack frames they refer to. References are checked later,
 * by program_check. */
static void get_origins(struct reader *reader, struct core_program *program)
{
    enum { MIN_BYTES = 8, MIN_FRAME_BYTES = 5 };
    uint32_t count = get_count(reader, MIN_BYTES);
    struct origin *items = make_list(reader, count, sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        struct origin *item = &items[i];
        item->layer = get_text(reader);
        item->operation = get_text(reader);
        item->opcode = get_text(reader);
        item->framework = get_text(reader);
        item->file = get_text(reader);
        item->line = get_u32(reader);
        item->stack_frame = get_u32(reader);
        item->model_flops = get_number(reader);
    }
    program->origins = items;
    program->origin_count = count;

    count = get_count(reader, MIN_FRAME_BYTES);
    struct source_frame *frames = make_list(reader, count, sizeof *frames);
    for (uint32_t i = 0; i < count; i++) {
        frames[i].function = get_text(reader);
        frames[i].file = get_text(reader);
        frames[i].line = get_u32(reader);
        frames[i].column = get_u32(reader);
        frames[i].parent = get_u32(reader);
    }
    program->frames = frames;
    program->frame_count = count;
}

static bool check_start(const uint8_t *bytes, size_t size, struct error *err)
{
    uint32_t version, crc;
    if (size < PROGRAM_HEADER_SIZE || memcmp(bytes, PROGRAM_MAGIC, PROGRAM_MAGIC_SIZE) != 0)
        return error_set(err, "it does not begin with " PROGRAM_MAGIC);
    memcpy(&version, bytes + PROGRAM_MAGIC_SIZE, sizeof version);
    memcpy(&crc, bytes + PROGRAM_MAGIC_SIZE + sizeof version, sizeof crc);
    if (version != PROGRAM_VERSION)
        return error_set(err, "its encoding has version %u; this Kymo reads version %d", version,
                         PROGRAM_VERSION);
    if (crc != crc32_of(0, bytes + PROGRAM_HEADER_SIZE, size - PROGRAM_HEADER_SIZE))
        return error_set(err, "it is damaged: the checksum does not match");
    return true;
}

/* The order of lists is that of the file. Errors stick to the reader, so they are looked at once,
 * at the end; bytes left over are an error as well. */
bool program_decode(struct core_program *program, uint32_t *worker_count, uint32_t **weight_crcs,
                    const uint8_t *bytes, size_t size, struct arena *arena, struct error *err)
{
    if (!check_start(bytes, size, err))
        return false;
    struct reader reader = {pb_read(bytes + PROGRAM_HEADER_SIZE, size - PROGRAM_HEADER_SIZE), arena,
                            NULL, 0};
    *program = (struct core_program){.core_version = get_u32(&reader)};
    *worker_count = get_u32(&reader);
    program->scratchpad_bytes = get_number(&reader);
    get_texts(&reader);
    get_variables(&reader, program, weight_crcs);
    get_queues(&reader, program);
    get_origins(&reader, program);
    get_collectives(&reader, program);
    get_descriptors(&reader, program);
    get_blocks(&reader, program);
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        get_code(&reader, program, i);
    if (!reader.in.problem && reader.in.at != reader.in.end)
        reader.in.problem = "it has bytes after its end";
    if (reader.in.problem)
        return error_set(err, "%s", reader.in.problem);
    return true;
}
