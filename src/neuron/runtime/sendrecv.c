/*
 * nrt_async_sendrecv.h: communicators and requests. With NEURON_RT_ROOT_COMM_ID a peer may be a
 * core of another process of the communicator of ranks.
 */
#include "base/base.h"
#include "neuron/runtime/channels.h"
#include "neuron/runtime/ranks.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <nrt/nrt_async_sendrecv.h>
#include <string.h>

struct comm { /* nrt_async_sendrecv_comm_t */
    struct object object;
    struct comm *next; /* of all */
    void *handle;
    struct channel *channel; /* NULL: the peer's process is not known yet, or it was closed */
    int side, core;
    char *peer_ip; /* of another process; NULL: of this one */
    int peer;
};

static bool is_initialized[CORES_MAX];
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
    pthread_mutex_lock(&channels_lock);
    NRT_STATUS status = is_initialized[core] ? NRT_FAILURE : NRT_SUCCESS;
    is_initialized[core] = true;
    pthread_mutex_unlock(&channels_lock);
    return status;
}

NRT_STATUS nrt_async_sendrecv_init(int lnc)
{
    IN_RUNTIME(init(lnc));
}

/* ---- Requests ------------------------------------------------------------------------------ */

/* Looks for the process of a peer. */
static void resolve(struct peers *peers, struct comm *comm)
{
    int32_t link = peers_find_core(peers, comm->peer_ip, (uint32_t)comm->peer);
    int own = (int)vncs[comm->core].logical;
    pthread_mutex_lock(&channels_lock);
    if (link >= 0 && !comm->channel)
        comm->channel = comm->side == SENDER
                            ? channel_join_remote(SENDER, (uint32_t)link, own, comm->peer)
                            : channel_join_remote(RECEIVER, (uint32_t)link, comm->peer, own);
    pthread_mutex_unlock(&channels_lock);
}

/* Of all communicators: a peer may wait for any of them. */
static void progress(void)
{
    struct peers *peers = ranks_peers();
    ARRAY(struct comm *) unresolved = {0};
    pthread_mutex_lock(&channels_lock);
    for (struct comm *comm = comms; comm; comm = comm->next)
        if (peers && comm->peer_ip && !comm->channel && object_get(comm->handle, OBJECT_COMM))
            *array_push(&unresolved) = comm; /* a reference */
    pthread_mutex_unlock(&channels_lock);
    while (unresolved.count > 0) { /* in the order of opening */
        struct comm *comm = unresolved.items[--unresolved.count];
        resolve(peers, comm);
        object_put(&comm->object);
    }
    array_free(&unresolved);
    channels_progress(peers);
}

/* Waiting for executions must not happen with channels_lock held: a copy is begun before it is
 * taken, and data to other processes is sent after it is released. */
static NRT_STATUS submit(struct comm *comm, struct channel_message *message,
                         nrt_async_sendrecv_request_t **request)
{
    bool is_sent = comm->peer_ip && comm->side == SENDER;
    NRT_STATUS status =
        is_sent ? storage_begin_copy(message->view.storage, NULL) : NRT_SUCCESS; /* no lock yet */
    if (status != NRT_SUCCESS)
        return status;
    pthread_mutex_lock(&channels_lock);
    struct channel *channel = comm->channel;
    status = !channel                                     ? NRT_INVALID_HANDLE
             : channels_pending[comm->core] < PENDING_MAX ? NRT_SUCCESS
                                                          : NRT_RESOURCE;
    if (status == NRT_SUCCESS) {
        channels_pending[comm->core]++;
        object_reference(&message->object);
        *request = object_publish(&message->object);
        if (!is_sent)
            channel_add(channel, comm->side, message);
    }
    pthread_mutex_unlock(&channels_lock);
    if (status == NRT_SUCCESS && is_sent)
        channel_send(ranks_peers(), channel, message);
    if (is_sent)
        storage_end_copy(message->view.storage, NULL);
    if (status == NRT_SUCCESS)
        object_put(&message->object);
    return status;
}

/* Takes what has arrived before and after: no thread does it, so every call makes progress.
 * The message owns the tensor's reference. */
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
    progress();
    struct channel_message *message = message_new(object, comm->core);
    NRT_STATUS status = NRT_INVALID;
    if (comm->side == side && length > 0 &&
        view_part(&message->view, offset, length, &message->part))
        status = submit(comm, message, request);
    progress();
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
    progress();
    struct channel_message *message = object_get(handle, OBJECT_REQUEST);
    if (!message)
        return NRT_INVALID_HANDLE;
    pthread_mutex_lock(&channels_lock);
    *done = message->is_done;
    if (size)
        *size = message->transferred;
    NRT_STATUS status = message->has_failed ? NRT_FAILURE : NRT_SUCCESS;
    pthread_mutex_unlock(&channels_lock);
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

static void comm_destroy(struct object *object)
{
    struct comm *comm = (struct comm *)object;
    pthread_mutex_lock(&channels_lock);
    struct comm **link = &comms;
    while (*link && *link != comm)
        link = &(*link)->next;
    if (*link)
        *link = comm->next;
    if (comm->channel)
        channel_leave(comm->channel, comm->side);
    pthread_mutex_unlock(&channels_lock);
    mem_free(comm->peer_ip);
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
        for (const struct ifaddrs *at = all; at && !found; at = at->ifa_next) {
            struct sockaddr_in own;
            if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET)
                continue;
            memcpy(&own, at->ifa_addr, sizeof own);
            found = own.sin_addr.s_addr == address.s_addr;
        }
    if (all)
        freeifaddrs(all);
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

/* The index of a peer that is a core of this process; -1: it is not. Where there may be others,
 * cores have the numbers of their machine. */
static int own_peer(const char *ip, int peer)
{
    int64_t index = *settings.root ? (int64_t)peer - settings.row.first : peer;
    return is_own_address(ip) && vnc_at(index) ? (int)index : -1;
}

/* A peer in another process has no channel yet: its process may come later, and is looked for by
 * the calls that follow. */
static NRT_STATUS open_comm(const char *ip, int peer, int core, int side,
                            nrt_async_sendrecv_comm_t **result)
{
    if (!ip || !result || !vnc_at(core) || peer < 0)
        return NRT_INVALID;
    int own = own_peer(ip, peer);
    if (own < 0 && !*settings.root) {
        rt_error(RT_NRT, "core %d of %s is not a core of this process", peer, ip);
        return NRT_FAILURE;
    }
    pthread_mutex_lock(&channels_lock);
    NRT_STATUS status = !is_initialized[core]                         ? NRT_UNINITIALIZED
                        : communicators_of(core) >= COMMUNICATORS_MAX ? NRT_RESOURCE
                                                                      : NRT_SUCCESS;
    if (status == NRT_SUCCESS) {
        struct comm *comm = object_new(OBJECT_COMM, sizeof *comm, comm_destroy);
        comm->side = side;
        comm->core = core;
        comm->peer = peer;
        if (own < 0)
            comm->peer_ip = mem_copy_text(ip, strlen(ip));
        else
            comm->channel =
                side == SENDER ? channel_join(side, core, own) : channel_join(side, own, core);
        comm->next = comms;
        comms = comm;
        comm->handle = object_publish(&comm->object);
        *result = comm->handle;
    }
    pthread_mutex_unlock(&channels_lock);
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
    progress();
    pthread_mutex_lock(&channels_lock);
    *done = comm->channel && comm->channel->was_open[SENDER] && comm->channel->was_open[RECEIVER];
    pthread_mutex_unlock(&channels_lock);
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
    pthread_mutex_lock(&channels_lock);
    for (const struct comm *comm = comms; comm && !handle; comm = comm->next)
        if (comm->core == core)
            handle = comm->handle;
    pthread_mutex_unlock(&channels_lock);
    return handle;
}

static NRT_STATUS close_core(int core)
{
    if (!vnc_at(core))
        return NRT_INVALID;
    pthread_mutex_lock(&channels_lock);
    bool was = is_initialized[core];
    is_initialized[core] = false;
    pthread_mutex_unlock(&channels_lock);
    if (!was)
        return NRT_UNINITIALIZED;
    for (void *handle; (handle = next_handle(core));) {
        struct object *object = object_retire(handle, OBJECT_COMM);
        if (!object)
            break; /* another thread still uses it, and frees it */
        object_put(object);
    }
    progress();
    return NRT_SUCCESS;
}

NRT_STATUS nrt_async_sendrecv_close(int lnc)
{
    IN_RUNTIME(close_core(lnc));
}

void sendrecv_close(void)
{
    pthread_mutex_lock(&channels_lock);
    memset(is_initialized, 0, sizeof is_initialized);
    pthread_mutex_unlock(&channels_lock);
    channels_close();
}

/* Memory of the host is coherent: what was copied is visible. */
static NRT_STATUS flush(int core)
{
    if (!vnc_at(core))
        return NRT_INVALID;
    pthread_mutex_lock(&channels_lock);
    NRT_STATUS status = is_initialized[core] ? NRT_SUCCESS : NRT_UNINITIALIZED;
    pthread_mutex_unlock(&channels_lock);
    return status;
}

NRT_STATUS nrt_async_sendrecv_flush(int lnc)
{
    IN_RUNTIME(flush(lnc));
}
