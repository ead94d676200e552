/*
 * Keeps what args of events say of collectives: PyTorch writes them on the host's call and, in
 * newer versions, on the kernel as well.
 */
#include "store/tables/events.h"

static const struct arg *arg_of(const struct event *event, enum role role)
{
    return event->present >> role & 1 ? event->by_role[role] : NULL;
}

/* Text of an arg; empty if it is a number. */
static struct text text_in(const struct catalog *catalog, const struct event *event, enum role role)
{
    const struct arg *arg = arg_of(event, role);
    return arg ? arg_text(catalog, arg) : (struct text){0};
}

static int64_t number_in(const struct event *event, enum role role)
{
    const struct arg *arg = arg_of(event, role);
    bool is_number = arg && (arg->type == ARG_INT || arg->type == ARG_UINT) && arg->integer >= 0;
    return is_number ? arg->integer : NOT_KNOWN;
}

/* "default_pg:0 [0, 1]": description, name and ranks, what there is of these. */
static uint32_t communicator_of(const struct catalog *catalog, struct worker *worker,
                                const struct event *event)
{
    struct text description = text_in(catalog, event, ROLE_GROUP_DESCRIPTION);
    struct text name = text_in(catalog, event, ROLE_GROUP);
    struct text ranks = text_in(catalog, event, ROLE_GROUP_RANKS);
    int64_t group = number_in(event, ROLE_COMMUNICATOR);
    struct output text;
    output_memory(&text);
    output_write(&text, description.data, description.size);
    if (description.size > 0 && name.size > 0)
        output_char(&text, ':');
    output_write(&text, name.data, name.size);
    if (text.size == 0 && group != NOT_KNOWN)
        output_format(&text, "communicator %lld", (long long)group);
    if (ranks.size > 0 && text.size > 0)
        output_char(&text, ' ');
    output_write(&text, ranks.data, ranks.size);
    uint32_t id = intern_add(&worker->collective_texts, (struct text){text.data, text.size});
    output_discard(&text);
    return id;
}

static int64_t bytes_of(const struct event *event, struct text type)
{
    int64_t in = number_in(event, ROLE_IN_ELEMENTS), out = number_in(event, ROLE_OUT_ELEMENTS);
    int64_t elements = in > out ? in : out, size = element_bytes(type), bytes;
    return elements == NOT_KNOWN || size == 0 || __builtin_mul_overflow(elements, size, &bytes)
               ? NOT_KNOWN
               : bytes;
}

void add_collective_fact(const struct event_sink *sink, struct worker *worker,
                         const struct event *event)
{
    const struct catalog *catalog = sink->maker->analysis->catalog;
    char buffer[OPERATION_SIZE];
    struct text type = text_in(catalog, event, ROLE_ELEMENT_TYPE);
    struct text operation = collective_operation(text_in(catalog, event, ROLE_COLLECTIVE), buffer);
    int64_t to = number_in(event, ROLE_TO_RANK), from = number_in(event, ROLE_FROM_RANK);
    *array_push(&worker->collectives) = (struct collective_fact){
        .event = event->id,
        .communicator = communicator_of(catalog, worker, event),
        .operation = intern_add(&worker->collective_texts, operation),
        .data_type = intern_add(&worker->collective_texts, type),
        .sequence = number_in(event, ROLE_SEQUENCE),
        .peer = to != NOT_KNOWN ? to : from,
        .group_size = number_in(event, ROLE_GROUP_SIZE),
        .bytes = bytes_of(event, type),
    };
}

void gather_collective_facts(struct event_sink *sink)
{
    struct profile_maker *maker = sink->maker;
    for (unsigned i = 0; i < sink->worker_count; i++) {
        const struct worker *worker = &sink->workers[i];
        const struct collective_fact *fact;
        array_each (fact, &worker->collectives) {
            struct collective_fact *kept = array_push(&maker->collectives);
            *kept = *fact;
            uint32_t *texts[] = {&kept->communicator, &kept->operation, &kept->data_type};
            for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
                *texts[k] = intern_add(&maker->collective_texts,
                                       intern_text(&worker->collective_texts, *texts[k]));
        }
    }
}
