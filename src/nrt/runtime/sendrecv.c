/*
 * nrt_async_sendrecv.h between cores of this process. A channel joins the communicator of a sender
 * and that of a receiver; sends and receives meet in their order, and the later one copies.
 */
#include "base/base.h"
#include "nrt/runtime/tensor.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <nrt/nrt_async_sendrecv.h>
#include <string.h>

enum { COMMUNICATORS_MAX = 64, PENDING_MAX = 128, SENDER = 0, RECEIVER = 1 };

struct message { /* nrt_async_sendrecv_request_t */
    struct object object;
    struct message *next;
    struct tensor *tensor;
    struct view view, part;
    size_t transferred;
    int core;
    bool is_done, has_failed;
};

struct channel {
    unsigned references;
    int cores[2]; /* of sender and receiver */
    bool is_open[2], was_open[2];
    struct message *first[2], **last[2]; /* references */
};

struct comm { /* nrt_async_sendrecv_comm_t */
    struct object object;
    struct comm *next; /* of all */
    void *handle;
    struct channel *channel;
    int side, core;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_initialised[CORES_MAX];
static int pending[CORES_MAX];
static struct comm *comms;

/* ---- Limits and cores ---------------------------------------------------------------------- */

static NRT_STATUS give_number(int *to, int value)
{
    if (!to)
        return NRT_INVALID;
    *to = value;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_async_sendrecv_get_max_num_communicators_per_lnc(int *num)
{
    return give_number(num, COMMUNICATORS_MAX);
}

NRT_STATUS nrt_async_sendrecv_get_max_num_pending_request(int *num)
{
    return give_number(num, PENDING_MAX);
}

static NRT_STATUS init(int core)
{
    if (!vnc_at(core))
        return NRT_INVALID;
    pthread_mutex_lock(&lock);
    NRT_STATUS status = is_initialised[core] ? NRT_FAILURE : NRT_SUCCESS;
    is_initialised[core] = true;
    pthread_mutex_unlock(&lock);
    return status;
}

NRT_STATUS nrt_async_sendrecv_init(int lnc)
{
    IN_RUNTIME(init(lnc));
}

/* ---- Messages ------------------------------------------------------------------------------ */

static void message_destroy(struct object *object)
{
    struct message *message = (struct message *)object;
    view_put(&message->view);
    object_put(&message->tensor->object);
}

/* With the lock held. */
static struct message *take_first(struct channel *channel, int side)
{
    struct message *message = channel->first[side];
    channel->first[side] = message->next;
    if (!channel->first[side])
        channel->last[side] = &channel->first[side];
    return message;
}

/* With the lock held. */
static void finish(struct message *message, size_t size, bool failed)
{
    message->is_done = true;
    message->has_failed = failed;
    message->transferred = size;
    pending[message->core]--;
    object_put(&message->object);
}

/* With the lock held, also while executions that use the tensors end: they need no lock of ours. */
static void meet(struct channel *channel)
{
    while (channel->first[SENDER] && channel->first[RECEIVER]) {
        struct message *from = take_first(channel, SENDER);
        struct message *to = take_first(channel, RECEIVER);
        size_t size = from->part.size < to->part.size ? from->part.size : to->part.size;
        bool may = storage_begin_copy(from->view.storage, to->view.storage);
        if (may) {
            memmove(to->part.data, from->part.data, size);
            storage_end_copy(from->view.storage, to->view.storage);
        }
        finish(from, size, !may);
        finish(to, size, !may);
    }
}

static NRT_STATUS post(nrt_tensor_t *tensor, size_t offset, size_t length,
                       nrt_async_sendrecv_comm_t *handle, int side,
                       nrt_async_sendrecv_request_t **request)
{
    if (!request)
        return NRT_INVALID;
    struct comm *comm = object_get(handle, OBJECT_COMM);
    struct tensor *object = tensor_get(tensor);
    if (!comm || !object) {
        object_put(comm ? &comm->object : NULL);
        object_put(object ? &object->object : NULL);
        return NRT_INVALID_HANDLE;
    }
    struct message *message = object_new(OBJECT_REQUEST, sizeof *message, message_destroy);
    message->tensor = object;
    message->view = tensor_view(object);
    message->core = comm->core;
    NRT_STATUS status = NRT_INVALID;
    if (comm->side == side && length > 0 &&
        view_part(&message->view, offset, length, &message->part)) {
        pthread_mutex_lock(&lock);
        status = !comm->channel                      ? NRT_INVALID_HANDLE
                 : pending[comm->core] < PENDING_MAX ? NRT_SUCCESS
                                                     : NRT_RESOURCE;
        if (status == NRT_SUCCESS) {
            pending[comm->core]++;
            object_reference(&message->object); /* the channel's */
            *comm->channel->last[side] = message;
            comm->channel->last[side] = &message->next;
            *request = object_publish(&message->object);
            meet(comm->channel);
        }
        pthread_mutex_unlock(&lock);
    }
    if (status != NRT_SUCCESS)
        object_put(&message->object);
    object_put(&comm->object);
    return status;
}

NRT_STATUS nrt_async_sendrecv_send_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
                                          nrt_async_sendrecv_comm_t *send_comm,
                                          nrt_async_sendrecv_request_t **request)
{
    IN_RUNTIME(post(tensor, offset, length, send_comm, SENDER, request));
}

NRT_STATUS nrt_async_sendrecv_recv_tensor(nrt_tensor_t *tensor, size_t offset, size_t length,
                                          nrt_async_sendrecv_comm_t *recv_comm,
                                          nrt_async_sendrecv_request_t **request)
{
    IN_RUNTIME(post(tensor, offset, length, recv_comm, RECEIVER, request));
}

static NRT_STATUS test_request(nrt_async_sendrecv_request_t *handle, bool *done, size_t *size)
{
    if (!done)
        return NRT_INVALID;
    struct message *message = object_get(handle, OBJECT_REQUEST);
    if (!message)
        return NRT_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    *done = message->is_done;
    if (size)
        *size = message->transferred;
    NRT_STATUS status = message->has_failed ? NRT_FAILURE : NRT_SUCCESS;
    pthread_mutex_unlock(&lock);
    if (*done)
        object_put(object_retire(handle, OBJECT_REQUEST));
    object_put(&message->object);
    return status;
}

NRT_STATUS nrt_async_sendrecv_test_request(nrt_async_sendrecv_request_t *request, bool *done,
                                           size_t *size)
{
    IN_RUNTIME(test_request(request, done, size));
}

/* ---- Communicators ------------------------------------------------------------------------- */

/* With the lock held: messages that nobody will answer end as failures. */
static void leave_channel(struct comm *comm)
{
    struct channel *channel = comm->channel;
    if (!channel)
        return;
    comm->channel = NULL;
    channel->is_open[comm->side] = false;
    for (int side = 0; side < 2; side++)
        while (channel->first[side])
            finish(take_first(channel, side), 0, true);
    if (--channel->references == 0)
        mem_free(channel);
}

static void comm_destroy(struct object *object)
{
    struct comm *comm = (struct comm *)object;
    pthread_mutex_lock(&lock);
    struct comm **link = &comms;
    while (*link && *link != comm)
        link = &(*link)->next;
    if (*link)
        *link = comm->next;
    leave_channel(comm);
    pthread_mutex_unlock(&lock);
}

static bool is_own_address(const char *text)
{
    struct in_addr address;
    struct ifaddrs *all = NULL;
    if (strcmp(text, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, text, &address) != 1)
        return false;
    bool found = ntohl(address.s_addr) >> 24 == 127;
    if (!found && getifaddrs(&all) == 0)
        for (const struct ifaddrs *at = all; at && !found; at = at->ifa_next)
            found = at->ifa_addr && at->ifa_addr->sa_family == AF_INET &&
                    ((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr.s_addr ==
                        address.s_addr;
    if (all)
        freeifaddrs(all);
    return found;
}

/* With the lock held: the oldest channel of the two cores without this side, or a new one. */
static struct channel *join(int side, int sender, int receiver)
{
    struct channel *found = NULL;
    for (const struct comm *comm = comms; comm; comm = comm->next) {
        struct channel *channel = comm->channel;
        if (channel && channel->cores[SENDER] == sender && channel->cores[RECEIVER] == receiver &&
            !channel->was_open[side])
            found = channel;
    }
    if (!found) {
        found = mem_zeroed(1, sizeof *found);
        found->cores[SENDER] = sender;
        found->cores[RECEIVER] = receiver;
        found->last[SENDER] = &found->first[SENDER];
        found->last[RECEIVER] = &found->first[RECEIVER];
    }
    found->references++;
    found->is_open[side] = found->was_open[side] = true;
    return found;
}

/* With the lock held. */
static int communicators_of(int core)
{
    int count = 0;
    for (const struct comm *comm = comms; comm; comm = comm->next)
        count += comm->core == core;
    return count;
}

static NRT_STATUS open_comm(const char *ip, int peer, int core, int side,
                            nrt_async_sendrecv_comm_t **result)
{
    if (!ip || !result || !vnc_at(core) || peer < 0)
        return NRT_INVALID;
    if (!is_own_address(ip) || !vnc_at(peer)) {
        rt_error(RT_NRT, "core %d of %s is not a core of this process", peer, ip);
        return NRT_FAILURE;
    }
    pthread_mutex_lock(&lock);
    NRT_STATUS status = !is_initialised[core]                         ? NRT_UNINITIALIZED
                        : communicators_of(core) >= COMMUNICATORS_MAX ? NRT_RESOURCE
                                                                      : NRT_SUCCESS;
    if (status == NRT_SUCCESS) {
        struct comm *comm = object_new(OBJECT_COMM, sizeof *comm, comm_destroy);
        comm->side = side;
        comm->core = core;
        comm->channel = side == SENDER ? join(side, core, peer) : join(side, peer, core);
        comm->next = comms;
        comms = comm;
        comm->handle = object_publish(&comm->object);
        *result = comm->handle;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

NRT_STATUS nrt_async_sendrecv_connect(const char *peer_ip, int peer_lnc, int lnc,
                                      nrt_async_sendrecv_comm_t **send_comm)
{
    IN_RUNTIME(open_comm(peer_ip, peer_lnc, lnc, SENDER, send_comm));
}

NRT_STATUS nrt_async_sendrecv_accept(const char *peer_ip, int peer_lnc, int lnc,
                                     nrt_async_sendrecv_comm_t **recv_comm)
{
    IN_RUNTIME(open_comm(peer_ip, peer_lnc, lnc, RECEIVER, recv_comm));
}

static NRT_STATUS test_comm(nrt_async_sendrecv_comm_t *handle, bool *done)
{
    if (!done)
        return NRT_INVALID;
    struct comm *comm = object_get(handle, OBJECT_COMM);
    if (!comm)
        return NRT_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    *done = comm->channel && comm->channel->was_open[SENDER] && comm->channel->was_open[RECEIVER];
    pthread_mutex_unlock(&lock);
    object_put(&comm->object);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_async_sendrecv_test_comm(nrt_async_sendrecv_comm_t *comm, bool *done)
{
    IN_RUNTIME(test_comm(comm, done));
}

/* ---- The end ------------------------------------------------------------------------------- */

/* A communicator of the core whose handle is still valid, or NULL. */
static void *next_handle(int core)
{
    void *handle = NULL;
    pthread_mutex_lock(&lock);
    for (const struct comm *comm = comms; comm && !handle; comm = comm->next)
        if (comm->core == core)
            handle = comm->handle;
    pthread_mutex_unlock(&lock);
    return handle;
}

static NRT_STATUS close_core(int core)
{
    if (!vnc_at(core))
        return NRT_INVALID;
    pthread_mutex_lock(&lock);
    bool was = is_initialised[core];
    is_initialised[core] = false;
    pthread_mutex_unlock(&lock);
    if (!was)
        return NRT_UNINITIALIZED;
    for (void *handle; (handle = next_handle(core));) {
        struct object *object = object_retire(handle, OBJECT_COMM);
        if (!object)
            break; /* another thread still uses it, and frees it */
        object_put(object);
    }
    return NRT_SUCCESS;
}

NRT_STATUS nrt_async_sendrecv_close(int lnc)
{
    IN_RUNTIME(close_core(lnc));
}

void sendrecv_close(void)
{
    pthread_mutex_lock(&lock);
    memset(is_initialised, 0, sizeof is_initialised);
    memset(pending, 0, sizeof pending);
    pthread_mutex_unlock(&lock);
}

/* Memory of the host is coherent: what was copied is visible. */
static NRT_STATUS flush(int core)
{
    if (!vnc_at(core))
        return NRT_INVALID;
    pthread_mutex_lock(&lock);
    NRT_STATUS status = is_initialised[core] ? NRT_SUCCESS : NRT_UNINITIALIZED;
    pthread_mutex_unlock(&lock);
    return status;
}

NRT_STATUS nrt_async_sendrecv_flush(int lnc)
{
    IN_RUNTIME(flush(lnc));
}
