/*
 * Writes programs. Encodes differences from what came before: a program is mostly loops that the
 * compiler unrolled, so most fields of an instruction equal those of the one before it.
 */
#include "neuron/program/binary.h"

static void put_number(struct output *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        output_char(out, (char)(value | 0x80));
    output_char(out, (char)value);
}

static void put_signed(struct output *out, int64_t value)
{
    put_number(out, zigzag(value));
}

/* The difference of two unsigned numbers, which may wrap. */
static void put_change(struct output *out, uint64_t from, uint64_t to)
{
    put_signed(out, (int64_t)(to - from));
}

static void put_byte(struct output *out, uint8_t value)
{
    output_char(out, (char)value);
}

static unsigned operand_mask(const struct operand *operand, const struct operand *before)
{
    unsigned mask = operand->offset != before->offset ? OPERAND_OFFSET : 0;
    if (operand->memory != before->memory || operand->dtype != before->dtype ||
        operand->partition != before->partition || operand->partitions != before->partitions)
        mask |= OPERAND_PLACE;
    for (unsigned i = 0; i < 4; i++)
        if (operand->step[i] != before->step[i] || operand->size[i] != before->size[i])
            mask |= (unsigned)OPERAND_DIMENSION << i;
    return mask;
}

static void put_operand(struct output *out, const struct operand *operand,
                        const struct operand *before)
{
    unsigned mask = operand_mask(operand, before);
    put_byte(out, (uint8_t)mask);
    if (mask & OPERAND_OFFSET)
        put_signed(out, (int64_t)operand->offset - before->offset);
    if (mask & OPERAND_PLACE) {
        put_byte(out, operand->memory);
        put_byte(out, operand->dtype);
        put_byte(out, operand->partition);
        put_byte(out, operand->partitions);
    }
    for (unsigned i = 0; i < 4; i++)
        if (mask & (unsigned)OPERAND_DIMENSION << i) {
            put_signed(out, operand->step[i]);
            put_number(out, operand->size[i]);
        }
}

static unsigned instruction_mask(const struct instruction *item, const struct instruction *before)
{
    unsigned mask = 0;
#define FIELD(bit, differs) mask |= (differs) ? (unsigned)(bit) : 0
    FIELD(FIELD_ALU,
          item->alu != before->alu || item->alu2 != before->alu2 || item->flags != before->flags);
    FIELD(FIELD_WAIT_SEMAPHORE, item->wait_semaphore != before->wait_semaphore);
    FIELD(FIELD_WAIT_VALUE, item->wait_value != before->wait_value);
    FIELD(FIELD_UPDATE_SEMAPHORE, item->update_semaphore != before->update_semaphore);
    FIELD(FIELD_UPDATE_VALUE, item->update_value != before->update_value);
    FIELD(FIELD_UPDATE_KIND,
          item->update_kind != before->update_kind || item->update_time != before->update_time);
    FIELD(FIELD_COUNT, item->count != before->count);
    FIELD(FIELD_INDEX, item->index != before->index);
    FIELD(FIELD_TARGET, item->target != before->target);
    FIELD(FIELD_ORIGIN, item->origin != before->origin);
    FIELD(FIELD_DST, operand_mask(&item->dst, &before->dst));
    for (unsigned i = 0; i < 3; i++)
        FIELD(FIELD_SRC << i, operand_mask(&item->src[i], &before->src[i]));
    for (unsigned i = 0; i < 2; i++)
        FIELD(FIELD_IMMEDIATE << i, item->immediate_int[i] != before->immediate_int[i]);
#undef FIELD
    return mask;
}

static void put_common(struct output *out, unsigned mask, const struct instruction *item,
                       const struct instruction *before)
{
    if (mask & FIELD_ALU) {
        put_byte(out, item->alu);
        put_byte(out, item->alu2);
        put_byte(out, item->flags);
    }
    if (mask & FIELD_WAIT_SEMAPHORE)
        put_number(out, item->wait_semaphore);
    if (mask & FIELD_WAIT_VALUE)
        put_signed(out, (int64_t)item->wait_value - before->wait_value);
    if (mask & FIELD_DST)
        put_operand(out, &item->dst, &before->dst);
    for (unsigned i = 0; i < 3; i++)
        if (mask & (unsigned)FIELD_SRC << i)
            put_operand(out, &item->src[i], &before->src[i]);
    if (mask & FIELD_ORIGIN)
        put_signed(out, (int64_t)item->origin - before->origin);
}

/* The counterpart of get_instruction: fields must be written in exactly the order in which it reads
 * them. */
static void put_instruction(struct output *out, const struct instruction *item,
                            const struct instruction *before)
{
    unsigned mask = instruction_mask(item, before);
    put_byte(out, item->opcode);
    put_number(out, mask);
    put_common(out, mask, item, before);
    if (mask & FIELD_UPDATE_SEMAPHORE)
        put_number(out, item->update_semaphore);
    if (mask & FIELD_UPDATE_VALUE)
        put_signed(out, (int64_t)item->update_value - before->update_value);
    if (mask & FIELD_INDEX)
        put_signed(out, (int64_t)item->index - before->index);
    if (mask & FIELD_UPDATE_KIND) {
        put_byte(out, item->update_kind);
        put_byte(out, item->update_time);
    }
    if (mask & FIELD_COUNT)
        put_number(out, item->count);
    if (mask & FIELD_TARGET)
        put_signed(out, (int64_t)item->target - before->target);
    for (unsigned i = 0; i < 2; i++)
        if (mask & (unsigned)FIELD_IMMEDIATE << i)
            output_write(out, (const char *)&item->immediate_int[i], sizeof(int64_t));
}

static void put_code(struct output *out, const struct instruction *code, uint32_t count)
{
    struct instruction blanks[OP_COUNT];
    const struct instruction *before[OP_COUNT];
    for (unsigned i = 0; i < OP_COUNT; i++) {
        blanks[i] = instruction_blank((uint8_t)i);
        before[i] = &blanks[i];
    }
    put_number(out, count);
    for (uint32_t i = 0; i < count; i++) {
        put_instruction(out, &code[i], before[code[i].opcode]);
        before[code[i].opcode] = &code[i];
    }
}

/* Transfers of a block mostly differ in their offsets only, which take a mask and one number. */
static void put_end(struct output *out, const struct dma_end *end, const struct dma_end *before)
{
    unsigned mask = end->offset != before->offset ? END_OFFSET : 0;
    if (end->memory != before->memory || end->dtype != before->dtype ||
        end->partition != before->partition || end->offset_register != before->offset_register)
        mask |= END_PLACE;
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++)
        if (end->step[i] != before->step[i] || end->size[i] != before->size[i])
            mask |= (unsigned)END_DIMENSION << i;
    mask |= end->variable != before->variable ? END_VARIABLE : 0;
    mask |= end->register_step != before->register_step ? END_REGISTER_STEP : 0;
    put_number(out, mask);
    if (mask & END_OFFSET)
        put_change(out, before->offset, end->offset);
    if (mask & END_PLACE) {
        put_byte(out, end->memory);
        put_byte(out, end->dtype);
        put_byte(out, end->partition);
        put_byte(out, end->offset_register);
    }
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++)
        if (mask & (unsigned)END_DIMENSION << i) {
            put_signed(out, end->step[i]);
            put_number(out, end->size[i]);
        }
    if (mask & END_VARIABLE)
        put_number(out, end->variable);
    if (mask & END_REGISTER_STEP)
        put_number(out, end->register_step);
}

/* Both ends are always written, as nearly every descriptor changes them; the reader also accepts
 * files that omit one. */
static void put_descriptors(struct output *out, const struct core_program *program)
{
    struct dma_descriptor blank = {0};
    const struct dma_descriptor *before = &blank;
    put_number(out, program->descriptor_count);
    for (uint32_t i = 0; i < program->descriptor_count; i++) {
        const struct dma_descriptor *item = &program->descriptors[i];
        unsigned mask = DESCRIPTOR_FROM | DESCRIPTOR_TO;
        if (item->operation != before->operation || item->indirect != before->indirect)
            mask |= DESCRIPTOR_KIND;
        mask |= operand_mask(&item->indices, &before->indices) ? DESCRIPTOR_INDICES : 0;
        mask |= item->index_limit != before->index_limit ? DESCRIPTOR_LIMIT : 0;
        put_byte(out, (uint8_t)mask);
        put_end(out, &item->from, &before->from);
        put_end(out, &item->to, &before->to);
        if (mask & DESCRIPTOR_KIND) {
            put_byte(out, item->operation);
            put_byte(out, item->indirect);
        }
        if (mask & DESCRIPTOR_INDICES)
            put_operand(out, &item->indices, &before->indices);
        if (mask & DESCRIPTOR_LIMIT)
            put_number(out, item->index_limit);
        before = item;
    }
}

static void put_blocks(struct output *out, const struct core_program *program)
{
    uint32_t next = 0;
    put_number(out, program->block_count);
    for (uint32_t i = 0; i < program->block_count; i++) {
        const struct dma_block *block = &program->blocks[i];
        put_signed(out, (int64_t)block->first - next);
        put_number(out, block->count);
        put_number(out, block->queue);
        put_number(out, block->semaphore);
        put_number(out, block->increment);
        next = block->first + block->count;
    }
}

static void put_queues(struct output *out, struct intern *texts, const struct core_program *program)
{
    put_number(out, program->queue_count);
    for (uint32_t i = 0; i < program->queue_count; i++) {
        const struct dma_queue *queue = &program->queues[i];
        put_number(out, intern_add(texts, text_of(queue->name)));
        put_byte(out, queue->kind);
        put_byte(out, queue->engine);
        put_byte(out, queue->rings);
        put_byte(out, queue->first_ring);
    }
}

static void put_variables(struct output *out, struct intern *texts,
                          const struct core_program *program)
{
    put_number(out, program->variable_count);
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct variable *variable = &program->variables[i];
        put_number(out, intern_add(texts, text_of(variable->name)));
        put_number(out, intern_add(texts, text_of(variable->layer)));
        put_byte(out, variable->kind);
        put_byte(out, variable->dtype);
        put_byte(out, variable->rank);
        for (unsigned k = 0; k < SHAPE_MAX; k++)
            if (k < variable->rank)
                put_number(out, variable->shape[k]);
        put_number(out, variable->size);
        put_number(out, variable->backing_offset);
        if (variable->kind == VARIABLE_WEIGHT)
            put_number(out, crc32_of(0, variable->data, variable->size));
    }
}

static void put_moves(struct output *out, const struct collective *item)
{
    put_number(out, item->move_count);
    for (uint32_t i = 0; i < item->move_count; i++) {
        const struct collective_move *move = &item->moves[i];
        const uint64_t numbers[] = {move->source, move->target, move->from, move->to, move->bytes};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            put_number(out, numbers[k]);
    }
}

static void put_collectives(struct output *out, const struct core_program *program)
{
    put_number(out, program->collective_count);
    for (uint32_t i = 0; i < program->collective_count; i++) {
        const struct collective *item = &program->collectives[i];
        put_byte(out, item->kind);
        put_byte(out, item->dtype);
        put_byte(out, item->alu);
        const uint64_t numbers[] = {item->semaphore,   item->increment,    item->input,
                                    item->output,      item->input_offset, item->output_offset,
                                    item->input_bytes, item->output_bytes, item->group_size,
                                    item->group_count, item->channel};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            put_number(out, numbers[k]);
        for (uint64_t k = 0; k < (uint64_t)item->group_count * item->group_size; k++)
            put_number(out, item->members[k]);
        if (item->kind == COLLECTIVE_ALL_TO_ALL_V)
            put_moves(out, item);
    }
}

static void put_origins(struct output *out, struct intern *texts,
                        const struct core_program *program)
{
    put_number(out, program->origin_count);
    for (uint32_t i = 0; i < program->origin_count; i++) {
        const struct origin *origin = &program->origins[i];
        const char *const words[] = {origin->layer, origin->operation, origin->opcode,
                                     origin->framework, origin->file};
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            put_number(out, intern_add(texts, text_of(words[k])));
        put_number(out, origin->line);
        put_number(out, origin->stack_frame);
        put_number(out, origin->model_flops);
    }
    put_number(out, program->frame_count);
    for (uint32_t i = 0; i < program->frame_count; i++) {
        const struct source_frame *frame = &program->frames[i];
        put_number(out, intern_add(texts, text_of(frame->function)));
        put_number(out, intern_add(texts, text_of(frame->file)));
        put_number(out, frame->line);
        put_number(out, frame->column);
        put_number(out, frame->parent);
    }
}

static void put_texts(struct output *out, const struct intern *texts)
{
    put_number(out, texts->by_id.count);
    for (size_t i = 0; i < texts->by_id.count; i++) {
        struct text text = intern_text(texts, (uint32_t)i);
        put_number(out, text.size);
        output_write(out, text.data, text.size);
    }
}

/* Texts come first in the file but are known last, so the rest is encoded into a buffer before. The
 * checksum covers everything after it, and is filled in at the end. */
void program_encode(const struct core_program *program, uint32_t worker_count, struct output *out)
{
    struct intern texts;
    struct output rest;
    intern_init(&texts);
    output_memory(&rest);
    put_variables(&rest, &texts, program);
    put_queues(&rest, &texts, program);
    put_origins(&rest, &texts, program);
    put_collectives(&rest, program);
    put_descriptors(&rest, program);
    put_blocks(&rest, program);
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        put_code(&rest, program->code[i], program->code_count[i]);

    const uint32_t version = PROGRAM_VERSION;
    uint32_t crc = 0;
    size_t start = out->size;
    output_write(out, PROGRAM_MAGIC, PROGRAM_MAGIC_SIZE);
    output_write(out, (const char *)&version, sizeof version);
    output_write(out, (const char *)&crc, sizeof crc);
    put_number(out, program->core_version);
    put_number(out, worker_count);
    put_number(out, program->scratchpad_bytes);
    put_texts(out, &texts);
    output_write(out, rest.data, rest.size);
    size_t body = start + PROGRAM_HEADER_SIZE;
    crc = crc32_of(0, out->data + body, out->size - body);
    memcpy(out->data + body - sizeof crc, &crc, sizeof crc);
    output_discard(&rest);
    intern_free(&texts);
}
