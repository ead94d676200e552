/*
 * The tool's side of NVTX: InitializeInjectionNvtx2 is called with the first annotation of a
 * program that runs with NVTX_INJECTION64_PATH, and puts functions of its own in the program's
 * tables. The declarations are the interface that versions 2 and 3 of NVTX share.
 */
#include "capture/cuda/nvtx.h"

#include "capture/cuda/nvtx_names.h"
#include "capture/cuda/nvtx_payload.h"
#include "capture/cuda/options/gpu_options.h"
#include "capture/cuda/python_lines.h"
#include "capture/cuda/torch_ranges.h"
#include "capture/recorder/lock.h"

#include <kymo/kymo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { EXPORT_CALLBACKS = 1 };
enum module { MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum core {
    CORE_MARK_EX = 1,
    CORE_MARK,
    CORE_MARK_WIDE,
    CORE_START_EX,
    CORE_START,
    CORE_START_WIDE,
    CORE_END,
    CORE_PUSH_EX,
    CORE_PUSH,
    CORE_PUSH_WIDE,
    CORE_POP,
    CORE_NAME_CATEGORY,
    CORE_NAME_CATEGORY_WIDE,
    CORE_NAME_THREAD,
    CORE_NAME_THREAD_WIDE,
    CORE_FUNCTIONS
};
enum core2 {
    CORE2_MARK_EX = 1,
    CORE2_START_EX,
    CORE2_END,
    CORE2_PUSH_EX,
    CORE2_POP,
    CORE2_RESOURCE_CREATE,
    CORE2_RESOURCE_DESTROY,
    CORE2_NAME_CATEGORY,
    CORE2_NAME_CATEGORY_WIDE,
    CORE2_REGISTER_STRING,
    CORE2_REGISTER_STRING_WIDE,
    CORE2_CREATE,
    CORE2_CREATE_WIDE,
    CORE2_DESTROY,
    CORE2_INITIALIZE,
    CORE2_FUNCTIONS
};
enum message { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };
enum payload {
    PAYLOAD_UINT64 = 1,
    PAYLOAD_INT64,
    PAYLOAD_DOUBLE,
    PAYLOAD_UINT32,
    PAYLOAD_INT32,
    PAYLOAD_FLOAT
};

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double d;
        uint32_t u32;
        int32_t i32;
        float f;
        const struct nvtx_payload *structures;
    } payload;
    int32_t message_type;
    union {
        const char *text;
        const wchar_t *wide;
        const struct registered *registered;
    } message;
};

struct exports {
    size_t size;
    int (*get_functions)(uint32_t module, void (****table)(void), unsigned *count);
};

enum { LONGEST_NAME = NVTX_LONGEST_NAME, DEPTH = 64, OPERATIONS = 16 };

/* Open ranges of a thread. Those deeper than DEPTH are counted only. */
struct stack {
    uint32_t depth, operations;
    uint32_t operators; /* of PyTorch, among the ranges below */
    struct {
        const struct domain *domain;
        uint32_t type;
        bool is_operator;
    } ranges[DEPTH];
    char operation[OPERATIONS][LONGEST_NAME];
};

static __thread struct stack *mine;
static pthread_key_t thread_end;
static bool has_thread_end;

static void free_stack(void *stack)
{
    mine = NULL;
    free(stack);
}

static void make_thread_end(void)
{
    has_thread_end = pthread_key_create(&thread_end, free_stack) == 0;
}

/* NULL when out of memory, or when nothing would free it at the thread's end. */
static struct stack *my_stack(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (mine)
        return mine;
    undisturbed_once(&once, make_thread_end);
    mine = has_thread_end ? calloc(1, sizeof *mine) : NULL;
    if (mine && pthread_setspecific(thread_end, mine) != 0)
        free_stack(mine);
    return mine;
}

const char *nvtx_operation(void)
{
    if (!mine || mine->operations == 0)
        return NULL;
    return mine->operation[mine->operations <= OPERATIONS ? mine->operations - 1 : OPERATIONS - 1];
}

/* ---- Events -------------------------------------------------------------------------------- */

/* Programs leave out names, and attributes may be of a shorter structure, or not filled in. */
static const char *named(const char *name)
{
    return name && *name ? name : "(no name)";
}

static const struct attributes *whole(const struct attributes *attributes)
{
    return attributes && attributes->version > 0 && attributes->size >= sizeof *attributes
               ? attributes
               : NULL;
}

/* Attributes are whole, or NULL. */
static const char *message_of(const struct attributes *attributes, char text[static LONGEST_NAME])
{
    const char *message = NULL;
    if (attributes && attributes->message_type == MESSAGE_ASCII)
        message = attributes->message.text;
    else if (attributes && attributes->message_type == MESSAGE_WIDE)
        message = nvtx_narrow(attributes->message.wide, text);
    else if (attributes && attributes->message_type == MESSAGE_REGISTERED &&
             attributes->message.registered)
        message = attributes->message.registered->text;
    return named(message);
}

static struct kymo_arg payload_of(const struct attributes *attributes)
{
    switch (attributes->payload_type) {
    case PAYLOAD_UINT64:
        return kymo_uint("payload", attributes->payload.u64);
    case PAYLOAD_INT64:
        return kymo_int("payload", attributes->payload.i64);
    case PAYLOAD_DOUBLE:
        return kymo_double("payload", attributes->payload.d);
    case PAYLOAD_UINT32:
        return kymo_uint("payload", attributes->payload.u32);
    case PAYLOAD_INT32:
        return kymo_int("payload", attributes->payload.i32);
    default:
        return kymo_double("payload", (double)attributes->payload.f);
    }
}

static size_t put_args(struct kymo_arg args[static KYMO_MOST_ARGS], const struct domain *domain,
                       const struct attributes *attributes)
{
    size_t count = 0;
    if (domain)
        args[count++] = kymo_text("domain", domain->name);
    if (!attributes)
        return count;
    const char *category =
        attributes->category ? nvtx_category(domain, attributes->category) : NULL;
    if (attributes->category)
        args[count++] = category ? kymo_text("category", category)
                                 : kymo_uint("category", attributes->category);
    if (attributes->payload_type >= PAYLOAD_UINT64 && attributes->payload_type <= PAYLOAD_FLOAT)
        args[count++] = payload_of(attributes);
    if (attributes->color_type)
        args[count++] = kymo_uint("color", attributes->color);
    if (attributes->payload_type == NVTX_PAYLOAD_STRUCTURES && attributes->reserved > 0)
        count +=
            nvtx_payload_args(domain, attributes->payload.structures, (size_t)attributes->reserved,
                              args + count, KYMO_MOST_ARGS - count);
    return count;
}

static uint32_t record(const char *name, enum kymo_kind kind, uint64_t id,
                       const struct kymo_arg *args, size_t count)
{
    uint32_t type = kymo_type_id(name, KYMO_SOFTWARE, 1);
    if (type)
        kymo_lane_record(NULL,
                         &(struct kymo_lane_event){
                             .type = type, .core = KYMO_NO_CORE, .kind = (uint8_t)kind, .id = id},
                         args, count);
    else
        kymo_named_event(name, kind, id, args, count);
    return type;
}

static uint32_t record_annotation(const char *name, enum kymo_kind kind, uint64_t id,
                                  const struct domain *domain, const struct attributes *attributes)
{
    struct kymo_arg args[KYMO_MOST_ARGS];
    size_t count = put_args(args, domain, attributes);
    return record(name, kind, id, count > 0 ? args : NULL, count);
}

/* Args have the names of torch.profiler's files. Within an operator, Python does not go on: the
 * outermost one has the line. */
static uint32_t record_operator(const struct torch_range *range, bool is_outermost)
{
    struct kymo_arg args[5];
    struct python_line line;
    size_t count = 0;
    args[count++] = kymo_uint("Record function id", range->id);
    if (range->sequence >= 0)
        args[count++] = kymo_int("Sequence number", range->sequence);
    if (range->sizes[0])
        args[count++] = kymo_text("Input Dims", range->sizes);
    if (is_outermost && python_line(&line)) {
        args[count++] = kymo_text("source_file", line.file);
        args[count++] = kymo_int("source_line", line.line);
    }
    return record(range->name, KYMO_KIND_BEGIN, 0, args, count);
}

static uint32_t record_push(const struct domain *domain, const char *name,
                            const struct attributes *attributes, bool is_outermost,
                            bool *is_operator)
{
    struct torch_range range;
    if (!kymo_wants(1))
        return 0;
    if (!domain && !attributes && torch_range_read(name, &range)) {
        *is_operator = torch_range_is_operator(&range);
        return record_operator(&range, is_outermost);
    }
    return record_annotation(name, KYMO_KIND_BEGIN, 0, domain, attributes);
}

static int push(const struct domain *domain, const char *name, const struct attributes *attributes)
{
    struct stack *stack = my_stack();
    if (!stack)
        return -1;
    uint32_t depth = stack->depth++;
    if (domain && domain->has_operations && stack->operations++ < OPERATIONS)
        snprintf(stack->operation[stack->operations - 1], LONGEST_NAME, "%s", name);
    bool is_operator = false;
    uint32_t type = record_push(domain, name, attributes, stack->operators == 0, &is_operator);
    if (depth < DEPTH) {
        stack->ranges[depth].domain = domain;
        stack->ranges[depth].type = type;
        stack->ranges[depth].is_operator = is_operator;
        stack->operators += is_operator;
    }
    return (int)depth;
}

/* The innermost range of this domain; ranges of others stay open. */
static uint32_t remove_range(struct stack *stack, const struct domain *domain)
{
    uint32_t i = stack->depth;
    while (i > 0 && stack->ranges[i - 1].domain != domain)
        i--;
    if (i == 0)
        return 0;
    uint32_t type = stack->ranges[i - 1].type;
    stack->operators -= stack->ranges[i - 1].is_operator;
    memmove(&stack->ranges[i - 1], &stack->ranges[i], (stack->depth - i) * sizeof stack->ranges[0]);
    stack->depth--;
    return type;
}

static int pop(const struct domain *domain)
{
    struct stack *stack = mine;
    if (!stack || stack->depth == 0)
        return -1;
    if (domain && domain->has_operations && stack->operations > 0)
        stack->operations--;
    if (stack->depth > DEPTH) {
        stack->depth--;
        if (kymo_wants(1))
            kymo_named_event("(no name)", KYMO_KIND_END, 0, NULL, 0);
        return (int)stack->depth;
    }
    uint32_t before = stack->depth, type = remove_range(stack, domain);
    if (type && kymo_wants(1))
        kymo_lane_record(
            NULL,
            &(struct kymo_lane_event){.type = type, .core = KYMO_NO_CORE, .kind = KYMO_KIND_END},
            NULL, 0);
    return stack->depth < before ? (int)stack->depth : -1;
}

static void mark(const struct domain *domain, const char *name, const struct attributes *attributes)
{
    if (kymo_wants(1))
        record_annotation(name, KYMO_KIND_INSTANT, 0, domain, attributes);
}

/* Ids of ranges that any thread may end; their upper half is the name, which the end needs. */
static uint64_t start(const struct domain *domain, const char *name,
                      const struct attributes *attributes)
{
    static uint32_t last;
    uint32_t number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    uint64_t type = kymo_wants(1) ? kymo_type_id(name, KYMO_SOFTWARE, 1) : 0;
    uint64_t id = type << 32 | number;
    if (type)
        record_annotation(name, KYMO_KIND_BEGIN, id, domain, attributes);
    return id;
}

static void end(uint64_t id)
{
    if (id >> 32 && kymo_wants(1))
        kymo_lane_record(NULL,
                         &(struct kymo_lane_event){.type = (uint32_t)(id >> 32),
                                                   .core = KYMO_NO_CORE,
                                                   .kind = KYMO_KIND_END,
                                                   .id = id},
                         NULL, 0);
}

/* ---- The functions ------------------------------------------------------------------------- */

static void mark_ex(const struct attributes *attributes)
{
    char text[LONGEST_NAME];
    mark(NULL, message_of(whole(attributes), text), whole(attributes));
}

static void mark_text(const char *name)
{
    mark(NULL, named(name), NULL);
}

static void mark_wide(const wchar_t *name)
{
    char text[LONGEST_NAME];
    mark(NULL, named(nvtx_narrow(name, text)), NULL);
}

static uint64_t start_ex(const struct attributes *attributes)
{
    char text[LONGEST_NAME];
    return start(NULL, message_of(whole(attributes), text), whole(attributes));
}

static uint64_t start_text(const char *name)
{
    return start(NULL, named(name), NULL);
}

static uint64_t start_wide(const wchar_t *name)
{
    char text[LONGEST_NAME];
    return start(NULL, named(nvtx_narrow(name, text)), NULL);
}

static int push_ex(const struct attributes *attributes)
{
    char text[LONGEST_NAME];
    return push(NULL, message_of(whole(attributes), text), whole(attributes));
}

static int push_text(const char *name)
{
    return push(NULL, named(name), NULL);
}

static int push_wide(const wchar_t *name)
{
    char text[LONGEST_NAME];
    return push(NULL, named(nvtx_narrow(name, text)), NULL);
}

static int pop_default(void)
{
    return pop(NULL);
}

static void domain_mark(const struct domain *domain, const struct attributes *attributes)
{
    char text[LONGEST_NAME];
    mark(domain, message_of(whole(attributes), text), whole(attributes));
}

static uint64_t domain_start(const struct domain *domain, const struct attributes *attributes)
{
    char text[LONGEST_NAME];
    return start(domain, message_of(whole(attributes), text), whole(attributes));
}

static void domain_end(const struct domain *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

static int domain_push(const struct domain *domain, const struct attributes *attributes)
{
    char text[LONGEST_NAME];
    return push(domain, message_of(whole(attributes), text), whole(attributes));
}

static struct registered *register_string(const struct domain *domain, const char *text)
{
    (void)domain;
    return nvtx_register(text);
}

static struct registered *register_wide(const struct domain *domain, const wchar_t *wide)
{
    char text[LONGEST_NAME];
    return register_string(domain, nvtx_narrow(wide, text));
}

static void name_category(uint32_t category, const char *name)
{
    nvtx_name_category(NULL, category, name);
}

static void name_category_wide(uint32_t category, const wchar_t *name)
{
    char text[LONGEST_NAME];
    nvtx_name_category(NULL, category, nvtx_narrow(name, text));
}

static void domain_name_category_wide(struct domain *domain, uint32_t category, const wchar_t *name)
{
    char text[LONGEST_NAME];
    nvtx_name_category(domain, category, nvtx_narrow(name, text));
}

/* Threads are named by themselves; the recorder cannot name others. */
static void name_thread(uint32_t thread, const char *name)
{
    if (thread == (uint32_t)gettid())
        kymo_thread_name(name);
}

static void name_thread_wide(uint32_t thread, const wchar_t *name)
{
    char text[LONGEST_NAME];
    name_thread(thread, nvtx_narrow(name, text));
}

static struct domain *create_wide(const wchar_t *name)
{
    char text[LONGEST_NAME];
    return nvtx_domain(nvtx_narrow(name, text));
}

/* ---- Injection ----------------------------------------------------------------------------- */

#define PUT(id, function) [id] = (void (*)(void))(function)
/* By NVTX's own numbers. Functions without an entry keep doing nothing. */
static void (*const core[CORE_FUNCTIONS])(void) = {
    PUT(CORE_MARK_EX, mark_ex),
    PUT(CORE_MARK, mark_text),
    PUT(CORE_MARK_WIDE, mark_wide),
    PUT(CORE_START_EX, start_ex),
    PUT(CORE_START, start_text),
    PUT(CORE_START_WIDE, start_wide),
    PUT(CORE_END, end),
    PUT(CORE_PUSH_EX, push_ex),
    PUT(CORE_PUSH, push_text),
    PUT(CORE_PUSH_WIDE, push_wide),
    PUT(CORE_POP, pop_default),
    PUT(CORE_NAME_CATEGORY, name_category),
    PUT(CORE_NAME_CATEGORY_WIDE, name_category_wide),
    PUT(CORE_NAME_THREAD, name_thread),
    PUT(CORE_NAME_THREAD_WIDE, name_thread_wide),
};
/* The same for functions that take a domain. */
static void (*const core2[CORE2_FUNCTIONS])(void) = {
    PUT(CORE2_MARK_EX, domain_mark),
    PUT(CORE2_START_EX, domain_start),
    PUT(CORE2_END, domain_end),
    PUT(CORE2_PUSH_EX, domain_push),
    PUT(CORE2_POP, pop),
    PUT(CORE2_NAME_CATEGORY, nvtx_name_category),
    PUT(CORE2_NAME_CATEGORY_WIDE, domain_name_category_wide),
    PUT(CORE2_REGISTER_STRING, register_string),
    PUT(CORE2_REGISTER_STRING_WIDE, register_wide),
    PUT(CORE2_CREATE, nvtx_domain),
    PUT(CORE2_CREATE_WIDE, create_wide),
};

static void install(const struct exports *exports, enum module module,
                    void (*const *functions)(void), unsigned count)
{
    void (***table)(void) = NULL;
    unsigned size = 0;
    if (!exports->get_functions(module, &table, &size) || !table)
        return;
    for (unsigned i = 1; i < count && i < size; i++)
        if (functions[i] && table[i])
            *table[i] = functions[i];
}

/* The part that records GPUs reports wrong options. */
static void ignore(const struct error *err)
{
    (void)err;
}

KYMO_API int InitializeInjectionNvtx2(const void *(*get_exports)(uint32_t));
KYMO_API int InitializeInjectionNvtx2(const void *(*get_exports)(uint32_t))
{
    struct gpu_options options = GPU_OPTIONS;
    gpu_options_from_environment(&options, ignore);
    if (!options.nvtx)
        return 1;
    const struct exports *exports = get_exports(EXPORT_CALLBACKS);
    if (!exports || exports->size < sizeof *exports)
        return 0;
    install(exports, MODULE_CORE, core, CORE_FUNCTIONS);
    install(exports, MODULE_CORE2, core2, CORE2_FUNCTIONS);
    return 1;
}
