/*
 * A program with a GPU, as far as anything outside of it can tell: does what a file says, one
 * command per line, through the stand-ins for libcuda, libcupti and NVTX. Texts may hold spaces.
 *
 *   init                           the first CUDA call
 *   record HEX [AT TEXT]           an activity record; the bytes from AT on are a pointer to TEXT
 *   here AT HEX                    an activity record with this thread's id at AT
 *   threads N TIMES HEX            the same record from N threads at once, TIMES times each
 *   hand_over, hold 0|1, drop N    see mock_cupti.h
 *   sample DEVICE START END VALUE  of hardware counters, see mock_pm.h; decode_fails RESULT
 *   node ID GRAPH ORIGINAL_GRAPH NODE ORIGINAL TYPE
 *   domain NAME                    makes a domain; they have the numbers 1, 2, ...; 0 is none
 *   nccl DOMAIN COMMUNICATOR BYTES ROOT OPERATION TEXT   a mark with a structure as payload
 *   push|mark DOMAIN TEXT          also pushw, markw (wide), pushr (registered)
 *   pop DOMAIN
 *   start DOMAIN ID TEXT, end ID
 *   attributes CATEGORY COLOR PAYLOAD_TYPE VALUE    of the annotations that follow
 *   category DOMAIN NUMBER NAME, thread NUMBER NAME, stream HANDLE NAME
 *   clock                          prints what CUPTI's clock says
 *   say TEXT, wait                 prints a line; reads one
 *   stop, begin, attach            kymo_stop; kymo_start, and InitializeInjection again or
 *                                  kymo_cuda_attach
 *   fork                           the child does the rest, and the parent when it has ended
 *   exit N, _exit N, kill
 */
#include "mock_cupti.h"
#include "mock_pm.h"
#include "nvtx_client.h"

#include <dlfcn.h>
#include <kymo/kymo.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_DOMAINS = 16, MOST_RANGES = 64, LONGEST_RECORD = 512 };

static void *domains[MOST_DOMAINS];
static unsigned domain_count;
static uint64_t ranges[MOST_RANGES];
static struct nvtx_attributes attributes = {.version = 3, .size = sizeof attributes};

static const void *stand_in(const char *name)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    library = library ? library : dlopen("libcupti.so.12", RTLD_NOW | RTLD_LOCAL);
    const void *mock = library ? dlsym(library, name) : NULL;
    if (!mock) {
        fprintf(stderr, "player: %s\n", dlerror());
        exit(3);
    }
    return mock;
}

static const struct mock_cupti *cupti(void)
{
    static const struct mock_cupti *mock;
    if (!mock)
        mock = stand_in(MOCK_CUPTI);
    return mock;
}

/* Of libkymo, on which the library that the driver loads depends. */
static void *symbol(const char *name)
{
    void *library = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "player: no %s\n", name);
        exit(3);
    }
    return found;
}

static void init(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*initialize)(unsigned) = library ? (int (*)(unsigned))dlsym(library, "cuInit") : NULL;
    if (!initialize || initialize(0) != 0)
        fprintf(stderr, "player: cuInit failed: %s\n", initialize ? "" : dlerror());
}

/* ---- Records ------------------------------------------------------------------------------- */

struct record {
    size_t size;
    uint8_t data[LONGEST_RECORD];
};

static unsigned digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

static const char *read_record(struct record *record, const char *hex)
{
    for (record->size = 0; hex[0] > ' ' && hex[1] > ' ' && record->size < LONGEST_RECORD; hex += 2)
        record->data[record->size++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
    return hex;
}

/* CUPTI's names live as long as the program. */
static const char *keep(const char *text)
{
    static struct kept {
        struct kept *next;
        char text[];
    } *all;
    struct kept *kept = malloc(sizeof *kept + strlen(text) + 1);
    if (!kept)
        exit(3);
    kept->next = all;
    all = kept;
    return strcpy(kept->text, text);
}

static void put(const char *rest)
{
    struct record record;
    unsigned at;
    int used = 0;
    rest = read_record(&record, rest);
    if (sscanf(rest, " %u %n", &at, &used) == 1) {
        const char *text = keep(rest + used);
        memcpy(record.data + at, &text, sizeof text);
    }
    cupti()->record(record.data, record.size);
}

static void put_here(const char *rest)
{
    struct record record;
    unsigned at;
    int used = 0;
    uint32_t thread = (uint32_t)gettid();
    if (sscanf(rest, "%u %n", &at, &used) != 1)
        exit(3);
    read_record(&record, rest + used);
    memcpy(record.data + at, &thread, sizeof thread);
    cupti()->record(record.data, record.size);
}

struct job {
    struct record record;
    unsigned times;
};

static void *work(void *argument)
{
    const struct job *job = argument;
    for (unsigned i = 0; i < job->times; i++)
        cupti()->record(job->record.data, job->record.size);
    return NULL;
}

static void put_from_threads(const char *rest)
{
    unsigned count = 0;
    int used = 0;
    struct job job = {.times = 0};
    pthread_t threads[64];
    if (sscanf(rest, "%u %u %n", &count, &job.times, &used) != 2 || count > 64)
        exit(3);
    read_record(&job.record, rest + used);
    cupti();
    for (unsigned i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, &job);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void put_node(const char *rest)
{
    unsigned id = 0, type = 0;
    unsigned long h[4] = {0};
    sscanf(rest, "%u %lu %lu %lu %lu %u", &id, &h[0], &h[1], &h[2], &h[3], &type);
    cupti()->node(id, (const uintptr_t[]){h[0], h[1], h[2], h[3]}, type);
}

/* ---- Annotations --------------------------------------------------------------------------- */

static const wchar_t *widen(const char *text)
{
    static wchar_t wide[1024];
    swprintf(wide, 1024, L"%s", text);
    return wide;
}

/* Texts of no domain have no attributes. */
static void annotate(bool is_push, int form, const char *rest)
{
    unsigned number = 0;
    int used = 0;
    sscanf(rest, "%u %n", &number, &used);
    const char *text = rest + used;
    void *domain = domains[number % MOST_DOMAINS];
    struct nvtx_attributes with = attributes;
    with.message_type = form;
    if (form == NVTX_UNICODE)
        with.message.unicode = widen(text);
    else if (form == NVTX_REGISTERED)
        with.message.registered =
            NVTX_CALL(void *, (void *, const char *), NVTX_CORE2, 10, NULL, domain, text);
    else
        with.message.ascii = text;
    if (domain)
        NVTX_CALL(int, (void *, const struct nvtx_attributes *), NVTX_CORE2, is_push ? 4 : 1, 0,
                  domain, &with);
    else if (form == NVTX_UNICODE)
        NVTX_CALL(int, (const wchar_t *), NVTX_CORE, is_push ? 10 : 3, 0, with.message.unicode);
    else
        NVTX_CALL(int, (const char *), NVTX_CORE, is_push ? 9 : 2, 0, text);
}

static void push_text(const char *rest)
{
    annotate(true, NVTX_ASCII, rest);
}

static void push_wide(const char *rest)
{
    annotate(true, NVTX_UNICODE, rest);
}

static void push_registered(const char *rest)
{
    annotate(true, NVTX_REGISTERED, rest);
}

static void mark_text(const char *rest)
{
    annotate(false, NVTX_ASCII, rest);
}

static void mark_wide(const char *rest)
{
    annotate(false, NVTX_UNICODE, rest);
}

static void pop(const char *rest)
{
    unsigned domain = (unsigned)atoi(rest);
    if (domain == 0)
        NVTX_CALL(int, (void), NVTX_CORE, 11, 0);
    else
        NVTX_CALL(int, (void *), NVTX_CORE2, 5, 0, domains[domain % MOST_DOMAINS]);
}

static void start(const char *rest)
{
    unsigned domain = 0, id = 0;
    int used = 0;
    sscanf(rest, "%u %u %n", &domain, &id, &used);
    struct nvtx_attributes with = attributes;
    with.message_type = NVTX_ASCII;
    with.message.ascii = rest + used;
    ranges[id % MOST_RANGES] =
        domain ? NVTX_CALL(uint64_t, (void *, const struct nvtx_attributes *), NVTX_CORE2, 2, 0,
                           domains[domain % MOST_DOMAINS], &with)
               : NVTX_CALL(uint64_t, (const char *), NVTX_CORE, 5, 0, rest + used);
}

static void end(const char *rest)
{
    NVTX_CALL(int, (uint64_t), NVTX_CORE, 7, 0, ranges[(unsigned)atoi(rest) % MOST_RANGES]);
}

/* A call of NCCL: "nccl DOMAIN COMMUNICATOR BYTES ROOT OPERATION NAME", with the layout registered
 * at the first one. Members behind the array have no offset of their own and cannot be found. */
static void call_nccl(const char *rest)
{
    struct call {
        uint64_t communicator;
        int8_t small;
        size_t bytes;
        int root;
        uint32_t operation;
        float scale;
        int array[2];
        int behind;
    };
    static const struct {
        const char *name;
        uint64_t value;
        int8_t is_flag;
    } operations[] = {{"Sum", 0, 0}, {"Max", 2, 0}};
    static const struct {
        uint64_t flags, type;
        const char *name, *description;
        uint64_t detail, offset;
        const void *semantics, *reserved;
    } entries[] = {{0, 18, "NCCL communicator ID", NULL, 0, 0, NULL, NULL},
                   {0, 11, "small", NULL, 0, 0, NULL, NULL},
                   {0, 22, "Message size [bytes]", NULL, 0, 0, NULL, NULL},
                   {0, 5, "Root", NULL, 0, offsetof(struct call, root), NULL, NULL},
                   {0, (1 << 24) + 11, "Reduction operation", NULL, 0,
                    offsetof(struct call, operation), NULL, NULL},
                   {0, 19, "scale", NULL, 0, 0, NULL, NULL},
                   {1 << 4, 5, "array", NULL, 2, 0, NULL, NULL},
                   {0, 5, "behind", NULL, 0, 0, NULL, NULL}};
    const struct {
        uint64_t fields;
        const char *name;
        const void *entries;
        size_t count, size;
        uint64_t id;
        void *extension;
    } enumeration = {1 << 5, "op", operations, 2, 4, (1 << 24) + 11, NULL};
    const struct {
        uint64_t fields;
        const char *name;
        uint64_t type, flags;
        const void *entries;
        size_t count, size, alignment;
        uint64_t id;
        void *extension;
    } layout = {0, "call", 1, 0, entries, 8, sizeof(struct call), 0, 0, NULL};
    static uint64_t schema;
    struct call call = {.small = -5, .scale = 0.5F};
    struct {
        uint64_t schema;
        size_t size;
        const void *data;
    } payload = {0, sizeof call, &call};
    unsigned number = 0;
    int used = 0;
    sscanf(rest, "%u %lu %zu %d %u %n", &number, &call.communicator, &call.bytes, &call.root,
           &call.operation, &used);
    void *domain = domains[number % MOST_DOMAINS];
    intptr_t registers[2] = {nvtx_payload_function(0), nvtx_payload_function(1)};
    if (schema == 0 && registers[0]) {
        ((uint64_t (*)(void *, const void *))registers[1])(domain, &enumeration);
        schema = ((uint64_t (*)(void *, const void *))registers[0])(domain, &layout);
    }
    payload.schema = schema;
    payload.size = call.bytes == 0 ? offsetof(struct call, bytes) : sizeof call;
    struct nvtx_attributes with = attributes;
    with.message_type = NVTX_ASCII;
    with.message.ascii = rest + used;
    with.payload_type = (int32_t)0xDFBD0009;
    with.reserved = 1;
    with.payload.u64 = (uint64_t)(uintptr_t)&payload;
    NVTX_CALL(int, (void *, const struct nvtx_attributes *), NVTX_CORE2, 1, 0, domain, &with);
}

static void make_domain(const char *name)
{
    domains[++domain_count % MOST_DOMAINS] =
        NVTX_CALL(void *, (const char *), NVTX_CORE2, 12, NULL, name);
}

static void set_attributes(const char *rest)
{
    double value = 0;
    sscanf(rest, "%u %u %d %lf", &attributes.category, &attributes.color, &attributes.payload_type,
           &value);
    attributes.color_type = attributes.color ? NVTX_ARGB : 0;
    attributes.payload.u64 = 0;
    switch (attributes.payload_type) {
    case 1:
        attributes.payload.u64 = (uint64_t)value;
        break;
    case 2:
        attributes.payload.i64 = (int64_t)value;
        break;
    case 3:
        attributes.payload.d = value;
        break;
    case 4:
        attributes.payload.u32 = (uint32_t)value;
        break;
    case 5:
        attributes.payload.i32 = (int32_t)value;
        break;
    default:
        attributes.payload.f = (float)value;
        break;
    }
}

static void name_category(const char *rest)
{
    unsigned domain = 0, category = 0;
    int used = 0;
    sscanf(rest, "%u %u %n", &domain, &category, &used);
    if (domain)
        NVTX_CALL(int, (void *, uint32_t, const char *), NVTX_CORE2, 8, 0,
                  domains[domain % MOST_DOMAINS], category, rest + used);
    else
        NVTX_CALL(int, (uint32_t, const char *), NVTX_CORE, 12, 0, category, rest + used);
}

/* 0: the calling one. */
static void name_thread(const char *rest)
{
    unsigned thread = 0;
    int used = 0;
    sscanf(rest, "%u %n", &thread, &used);
    NVTX_CALL(int, (uint32_t, const char *), NVTX_CORE, 14, 0, thread ? thread : (uint32_t)gettid(),
              rest + used);
}

static void name_stream(const char *rest)
{
    unsigned long handle = 0;
    int used = 0;
    sscanf(rest, "%lu %n", &handle, &used);
    NVTX_CALL(int, (void *, const char *), NVTX_CUDA, 5, 0, (void *)handle, rest + used);
}

/* ---- The program --------------------------------------------------------------------------- */

static void wait_for_line(const char *rest)
{
    (void)rest;
    char line[16];
    if (!fgets(line, sizeof line, stdin))
        exit(4);
}

static void fork_child(const char *rest)
{
    (void)rest;
    fflush(stdout);
    pid_t child = fork();
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) {
        fprintf(stderr, "player: the child ended with %#x\n", (unsigned)status);
        exit(5);
    }
}

static void begin_with(const char *function)
{
    struct kymo_options options = KYMO_OPTIONS;
    ((int (*)(struct kymo_options *))symbol("kymo_options_from_environment"))(&options);
    if (((int (*)(const struct kymo_options *))symbol("kymo_start"))(&options) != 0)
        exit(3);
    ((int (*)(void))symbol(function))();
}

static void begin_again(const char *rest)
{
    (void)rest;
    begin_with("InitializeInjection");
}

static void attach(const char *rest)
{
    (void)rest;
    begin_with("kymo_cuda_attach");
}

static void init_cuda(const char *rest)
{
    (void)rest;
    init();
}

static void hand_over(const char *rest)
{
    (void)rest;
    cupti()->hand_over();
}

static void sample(const char *rest)
{
    const struct mock_pm *mock = stand_in(MOCK_PM);
    unsigned device;
    unsigned long long start, end;
    double value;
    if (sscanf(rest, "%u %llu %llu %lf", &device, &start, &end, &value) != 4)
        exit(3);
    mock->sample(device, start, end, value);
}

static void decode_fails(const char *rest)
{
    const struct mock_pm *mock = stand_in(MOCK_PM);
    mock->fail((uint32_t)atoi(rest));
}

static void hold(const char *rest)
{
    cupti()->hold(atoi(rest));
}

static void drop(const char *rest)
{
    cupti()->drop((size_t)atoi(rest));
}

static void print_clock(const char *rest)
{
    printf("%llu%s\n", (unsigned long long)cupti()->clock(), rest);
}

static void say(const char *rest)
{
    puts(rest);
    fflush(stdout);
}

static void stop(const char *rest)
{
    (void)rest;
    ((int (*)(void))symbol("kymo_stop"))();
}

static void leave(const char *rest)
{
    exit(atoi(rest));
}

static void leave_at_once(const char *rest)
{
    _exit(atoi(rest));
}

static void die(const char *rest)
{
    (void)rest;
    kill(getpid(), SIGKILL);
}

static const struct {
    const char *name;
    void (*function)(const char *rest);
} commands[] = {
    {"init", init_cuda},
    {"record", put},
    {"here", put_here},
    {"threads", put_from_threads},
    {"node", put_node},
    {"domain", make_domain},
    {"hand_over", hand_over},
    {"hold", hold},
    {"drop", drop},
    {"sample", sample},
    {"decode_fails", decode_fails},
    {"nccl", call_nccl},
    {"push", push_text},
    {"pushw", push_wide},
    {"pushr", push_registered},
    {"mark", mark_text},
    {"markw", mark_wide},
    {"pop", pop},
    {"start", start},
    {"end", end},
    {"attributes", set_attributes},
    {"category", name_category},
    {"thread", name_thread},
    {"stream", name_stream},
    {"clock", print_clock},
    {"say", say},
    {"wait", wait_for_line},
    {"stop", stop},
    {"begin", begin_again},
    {"attach", attach},
    {"fork", fork_child},
    {"exit", leave},
    {"_exit", leave_at_once},
    {"kill", die},
};

static void do_line(const char *command, const char *rest)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(command, commands[i].name) == 0) {
            commands[i].function(rest);
            return;
        }
    fprintf(stderr, "player: what is %s?\n", command);
    exit(3);
}

int main(int count, char **arguments)
{
    FILE *file = count == 2 ? fopen(arguments[1], "re") : NULL;
    char *line = NULL;
    size_t room = 0;
    if (!file)
        return 3;
    setlocale(LC_ALL, "");
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *rest = line + strcspn(line, " ");
        if (*rest)
            *rest++ = '\0';
        do_line(line, rest);
    }
    free(line);
    fclose(file);
    return 0;
}
