/*
 * A stand-in for NVIDIA's libcupti: takes the calls of the real one, and delivers the records that
 * the program of a test gives it, in buffers that it asks for. Environment variables:
 *
 *   MOCK_CUPTI_VERSION   what cuptiGetVersion says
 *   MOCK_CUPTI_ERRORS    results of functions, as "cuptiSubscribe=39 cuptiActivityEnable(10)=21"
 *   MOCK_CUPTI_ATTACHED  single calls are recorded only while their kind is on, as in a program
 *                        that has used CUDA before
 *   MOCK_CUPTI_LOG       a file to which calls are appended, one per line
 */
#include "mock_cupti.h"

#include "mock_calls.h"

#include <pthread.h>
#include <stdbool.h>

#define API __attribute__((visibility("default")))
enum { DONE = 0, INVALID = 1, LIMIT = 12, NO_SUCH_KIND = 21, SUBSCRIBED = 39 };
enum { KINDS = 64, CALLS = 1024, DRIVER = 4, RUNTIME = 5, RESOURCE = 3 };

typedef void (*callback)(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void (*requested)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                          size_t valid);

static struct {
    pthread_mutex_t lock;
    requested request;
    completed complete;
    callback call;
    void *user;
    bool kinds[KINDS], calls[2][CALLS], left_out[2][CALLS], resources[64];
    bool is_zeroed, is_held, is_destroyed;
    uint8_t *buffer;
    size_t size, used, dropped;
    uint64_t (*clock)(void);
} mock = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Its life ------------------------------------------------------------------------------ */

/* Like the real one, it is destroyed by a handler of exit that it registers when it is loaded: a
 * call after that crashes the program. */
static void destroy(void)
{
    mock.is_destroyed = true;
}

__attribute__((constructor)) static void be_loaded(void)
{
    atexit(destroy);
}

static void must_live(void)
{
    if (mock.is_destroyed)
        abort();
}

/* ---- Calls --------------------------------------------------------------------------------- */

#define called(...) (must_live(), mock_called("MOCK_CUPTI_LOG", "MOCK_CUPTI_ERRORS", __VA_ARGS__))

#define RETURN_ERROR(...)                                                                          \
    do {                                                                                           \
        uint32_t result = called(__VA_ARGS__);                                                     \
        if (result != DONE)                                                                        \
            return result;                                                                         \
    } while (0)

API uint32_t cuptiGetVersion(uint32_t *version)
{
    RETURN_ERROR("cuptiGetVersion");
    const char *value = getenv("MOCK_CUPTI_VERSION");
    *version = value ? (uint32_t)atoi(value) : 130001;
    return DONE;
}

API uint32_t cuptiGetResultString(uint32_t result, const char **text)
{
    static __thread char words[32];
    snprintf(words, sizeof words, "MOCK_ERROR_%u", result);
    *text = words;
    return called("cuptiGetResultString");
}

API uint32_t cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char names[2][CALLS][16];
    RETURN_ERROR("cuptiGetCallbackName");
    if (domain < 1 || domain > 2 || id >= CALLS)
        return INVALID;
    pthread_mutex_lock(&lock);
    snprintf(names[domain - 1][id], sizeof names[0][0], "%s%u%s", domain == 1 ? "cu" : "cuda", id,
             id == 20 ? "_v3020" : "");
    pthread_mutex_unlock(&lock);
    *name = names[domain - 1][id];
    return DONE;
}

API uint32_t cuptiSubscribe(void **subscriber, callback function, void *user)
{
    RETURN_ERROR("cuptiSubscribe");
    if (mock.call)
        return SUBSCRIBED;
    mock.call = function;
    mock.user = user;
    *subscriber = &mock;
    return DONE;
}

API uint32_t cuptiUnsubscribe(void *subscriber)
{
    RETURN_ERROR("cuptiUnsubscribe");
    if (subscriber != &mock || !mock.call)
        return INVALID;
    mock.call = NULL;
    memset(mock.resources, 0, sizeof mock.resources);
    return DONE;
}

API uint32_t cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t id)
{
    RETURN_ERROR("cuptiEnableCallback(%u,%u,%u)", enable, domain, id);
    if (subscriber != &mock || domain != RESOURCE || id >= 64)
        return INVALID;
    mock.resources[id] = enable;
    return DONE;
}

API uint32_t cuptiActivityRegisterCallbacks(requested request, completed complete)
{
    RETURN_ERROR("cuptiActivityRegisterCallbacks");
    pthread_mutex_lock(&mock.lock);
    mock.request = request;
    mock.complete = complete;
    pthread_mutex_unlock(&mock.lock);
    return DONE;
}

static uint32_t enable_kind(uint32_t kind, bool is_on)
{
    if (kind >= KINDS)
        return NO_SUCH_KIND;
    pthread_mutex_lock(&mock.lock);
    mock.kinds[kind] = is_on;
    pthread_mutex_unlock(&mock.lock);
    return DONE;
}

API uint32_t cuptiActivityEnable(uint32_t kind)
{
    RETURN_ERROR("cuptiActivityEnable(%u)", kind);
    return enable_kind(kind, true);
}

API uint32_t cuptiActivityDisable(uint32_t kind)
{
    RETURN_ERROR("cuptiActivityDisable(%u)", kind);
    return enable_kind(kind, false);
}

static uint32_t enable_call(uint32_t kind, uint32_t id, uint8_t is_on)
{
    if (id >= CALLS)
        return INVALID;
    pthread_mutex_lock(&mock.lock);
    mock.calls[kind - DRIVER][id] = is_on;
    mock.left_out[kind - DRIVER][id] = !is_on;
    pthread_mutex_unlock(&mock.lock);
    return DONE;
}

#ifndef MOCK_WITHOUT_SINGLE_CALLS
API uint32_t cuptiActivityEnableAndDump(uint32_t kind)
{
    RETURN_ERROR("cuptiActivityEnableAndDump(%u)", kind);
    return enable_kind(kind, true);
}

API uint32_t cuptiActivityEnableDriverApi(uint32_t id, uint8_t is_on)
{
    RETURN_ERROR("cuptiActivityEnableDriverApi(%u,%u)", id, is_on);
    return enable_call(DRIVER, id, is_on);
}

API uint32_t cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t is_on)
{
    RETURN_ERROR("cuptiActivityEnableRuntimeApi(%u,%u)", id, is_on);
    return enable_call(RUNTIME, id, is_on);
}
#else
uint32_t (*const mock_unused)(uint32_t, uint32_t, uint8_t) = enable_call;
#endif

API uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    RETURN_ERROR("cuptiActivityGetNumDroppedRecords");
    pthread_mutex_lock(&mock.lock);
    *dropped = mock.dropped;
    mock.dropped = 0;
    pthread_mutex_unlock(&mock.lock);
    return DONE;
}

API uint32_t cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value)
{
    uint64_t number = 0;
    memcpy(&number, value, *size < 8 ? *size : 8);
    RETURN_ERROR("cuptiActivitySetAttribute(%u,%zu,%llu)", attribute, *size,
                 (unsigned long long)number);
    mock.is_zeroed = mock.is_zeroed || (attribute == 5 && number);
    return DONE;
}

API uint32_t cuptiActivityRegisterTimestampCallback(uint64_t (*function)(void))
{
    RETURN_ERROR("cuptiActivityRegisterTimestampCallback");
    mock.clock = function;
    return DONE;
}

API uint32_t cuptiSetThreadIdType(uint32_t type)
{
    return called("cuptiSetThreadIdType(%u)", type);
}

API uint32_t cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    RETURN_ERROR("cuptiGetGraphNodeId");
    *id = (uintptr_t)node;
    return DONE;
}

API uint32_t cuptiGetGraphId(void *graph, uint32_t *id)
{
    RETURN_ERROR("cuptiGetGraphId");
    *id = (uint32_t)(uintptr_t)graph;
    return DONE;
}

/* ---- Buffers ------------------------------------------------------------------------------- */

/* Records lie one behind the other, each with its size before it: 8 bytes that are none of the
 * real one's, whose records are told apart by their kind. */
API uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
    RETURN_ERROR("cuptiActivityGetNextRecord");
    uint64_t size;
    uint8_t *at = buffer;
    if (*record) {
        memcpy(&size, *record - 8, 8);
        at = *record + size;
    }
    if (at >= buffer + valid)
        return LIMIT;
    *record = at + 8;
    return DONE;
}

struct buffer {
    completed complete;
    uint8_t *data;
    size_t size, used;
};

/* The lock is held. */
static struct buffer take_buffer(void)
{
    struct buffer taken = {mock.complete, mock.buffer, mock.size, mock.used};
    mock.buffer = NULL;
    mock.used = mock.size = 0;
    return taken;
}

static void deliver(struct buffer buffer)
{
    if (buffer.data)
        buffer.complete(NULL, 0, buffer.data, buffer.size, buffer.used);
}

API uint32_t cuptiActivityFlushAll(uint32_t flags)
{
    RETURN_ERROR("cuptiActivityFlushAll(%u)", flags);
    pthread_mutex_lock(&mock.lock);
    struct buffer buffer = {0};
    if (flags || (!mock.is_held && mock.used > 0))
        buffer = take_buffer();
    pthread_mutex_unlock(&mock.lock);
    deliver(buffer);
    return DONE;
}

static void request_buffer(void)
{
    size_t most = 0;
    mock.request(&mock.buffer, &mock.size, &most);
    if (mock.is_zeroed && mock.buffer &&
        (mock.buffer[0] != 0 || memcmp(mock.buffer, mock.buffer + 1, mock.size - 1) != 0)) {
        fprintf(stderr, "mock: a new buffer is not zero\n");
        abort();
    }
}

static bool is_enabled(const uint32_t *head)
{
    if (head[0] >= KINDS)
        return false;
    if ((head[0] != DRIVER && head[0] != RUNTIME) || head[1] >= CALLS)
        return mock.kinds[head[0]];
    if (mock.kinds[head[0]])
        return !mock.left_out[head[0] - DRIVER][head[1]];
    return !getenv("MOCK_CUPTI_ATTACHED") && mock.calls[head[0] - DRIVER][head[1]];
}

static void put_record(const void *data, size_t size)
{
    uint64_t length = (size + 7) & ~(size_t)7;
    uint32_t head[2];
    struct buffer full = {0};
    memcpy(head, data, sizeof head);
    pthread_mutex_lock(&mock.lock);
    if (mock.request && is_enabled(head)) {
        if (mock.buffer && mock.size - mock.used < 8 + length)
            full = take_buffer();
        if (!mock.buffer)
            request_buffer();
        if (mock.buffer) {
            memcpy(mock.buffer + mock.used, &length, 8);
            memcpy(mock.buffer + mock.used + 8, data, size);
            mock.used += 8 + length;
        } else
            mock.dropped++;
    }
    pthread_mutex_unlock(&mock.lock);
    deliver(full);
}

/* ---- What programs of tests ask for -------------------------------------------------------- */

static void hand_over(void)
{
    pthread_mutex_lock(&mock.lock);
    struct buffer buffer = take_buffer();
    pthread_mutex_unlock(&mock.lock);
    deliver(buffer);
}

static void hold(int is_on)
{
    pthread_mutex_lock(&mock.lock);
    mock.is_held = is_on;
    pthread_mutex_unlock(&mock.lock);
}

static void drop(size_t records)
{
    pthread_mutex_lock(&mock.lock);
    mock.dropped += records;
    pthread_mutex_unlock(&mock.lock);
}

static void node(uint32_t id, const uintptr_t handles[4], uint32_t type)
{
    struct {
        uintptr_t graph, original_graph, node, original_node;
        uint32_t type;
        void *dependency, *executable;
    } graph = {handles[0], handles[1], handles[2], handles[3], type, NULL, NULL};
    struct {
        void *context, *stream, *data;
    } resource = {NULL, NULL, &graph};
    if (mock.call && id < 64 && mock.resources[id])
        mock.call(mock.user, RESOURCE, id, &resource);
}

static uint64_t clock_now(void)
{
    return mock.clock ? mock.clock() : 0;
}

API const struct mock_cupti mock_cupti = {put_record, hand_over, hold, drop, node, clock_now};
