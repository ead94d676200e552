/*
 * Connections by what they wait for. Clients that stop halfway must not keep others out, whatever
 * they stop at: with too many connections, the phase that most are in loses its oldest one. A
 * client that goes on leaves its phase, so those that stay are the ones that stopped.
 */
#include "serve/http/clients.h"

#include <netinet/in.h>
#include <sys/socket.h>

struct client {
    struct client *next, *previous; /* newest first */
    int socket;
    struct client_address address;
    bool is_closing;
    _Atomic enum client_phase phase;
    _Atomic int64_t since_ms;    /* when it last made progress in the phase */
    _Atomic int64_t deadline_ms; /* of the phase, 0 for never */
};

struct clients {
    pthread_mutex_t lock; /* guards the list, not what the clients' threads set */
    struct client *newest;
    size_t max;
};

struct clients *clients_create(size_t max)
{
    struct clients *clients = mem_zeroed(1, sizeof *clients);
    pthread_mutex_init(&clients->lock, NULL);
    clients->max = max;
    return clients;
}

void clients_destroy(struct clients *clients)
{
    pthread_mutex_destroy(&clients->lock);
    mem_free(clients);
}

struct client_address client_address(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *peer = info ? info->client_addr : NULL;
    struct client_address address = {0};
    if (peer && peer->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, peer, sizeof v4);
        address = (struct client_address){4, v4.sin_addr.s_addr};
    } else if (peer && peer->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, peer, sizeof v6);
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
        address.family = is_v4 ? 4 : 6;
        memcpy(&address.number, v6.sin6_addr.s6_addr + (is_v4 ? 12 : 0), is_v4 ? 4 : 8);
    }
    return address;
}

bool client_is_same(struct client_address a, struct client_address b)
{
    return a.family == b.family && a.number == b.number;
}

static struct client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void client_enter(struct MHD_Connection *connection, enum client_phase phase, int64_t within_ms)
{
    struct client *client = client_of(connection);
    if (!client)
        return;
    atomic_store(&client->since_ms, clock_monotonic_ms());
    atomic_store(&client->phase, phase);
    atomic_store(&client->deadline_ms, within_ms ? clock_monotonic_ms() + within_ms : 0);
}

void client_progress(struct MHD_Connection *connection)
{
    struct client *client = client_of(connection);
    if (client)
        atomic_store(&client->since_ms, clock_monotonic_ms());
}

/* Wakes its thread, which then ends. Call with the lock held: the socket is closed after the client
 * has left the list. */
static void close_client(struct client *client)
{
    shutdown(client->socket, SHUT_RDWR);
    client->is_closing = true;
}

/* Connections of an address, or all. */
struct crowd {
    size_t count, waiting[CLIENT_PHASES];
    struct client *oldest[CLIENT_PHASES];
};

static void count_client(struct crowd *crowd, struct client *client)
{
    enum client_phase phase = atomic_load(&client->phase);
    crowd->count++;
    if (phase == CLIENT_IS_SERVED)
        return;
    struct client *oldest = crowd->oldest[phase];
    crowd->waiting[phase]++;
    if (!oldest || atomic_load(&client->since_ms) <= atomic_load(&oldest->since_ms))
        crowd->oldest[phase] = client;
}

static struct client *find_oldest(const struct crowd *crowd)
{
    size_t most = 0;
    for (size_t phase = 1; phase < CLIENT_PHASES; phase++)
        if (crowd->waiting[phase] > crowd->waiting[most])
            most = phase;
    return crowd->oldest[most];
}

/* Call with the lock held, after the newcomer was added: the oldest is never missing. */
static void make_room(const struct clients *clients, const struct client *newcomer)
{
    struct crowd all = {0}, same = {0};
    for (struct client *client = clients->newest; client; client = client->next) {
        if (client->is_closing)
            continue;
        count_client(&all, client);
        if (client_is_same(client->address, newcomer->address))
            count_client(&same, client);
    }
    if (same.count > clients->max * MAX_ADDRESS_PERCENT / 100)
        close_client(find_oldest(&same));
    else if (all.count > clients->max)
        close_client(find_oldest(&all));
}

static struct client *add_client(struct clients *clients, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct client *client = mem_zeroed(1, sizeof *client);
    client->socket = info ? info->connect_fd : -1;
    client->address = client_address(connection);
    atomic_store(&client->since_ms, clock_monotonic_ms());
    atomic_store(&client->deadline_ms, clock_monotonic_ms() + HEADER_MS);
    client->next = clients->newest;
    if (client->next)
        client->next->previous = client;
    clients->newest = client;
    return client;
}

static void remove_client(struct clients *clients, struct client *client)
{
    if (client->next)
        client->next->previous = client->previous;
    if (client->previous)
        client->previous->next = client->next;
    else
        clients->newest = client->next;
    mem_free(client);
}

void clients_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                    enum MHD_ConnectionNotificationCode code)
{
    struct clients *clients = context;
    struct client *client = *socket_context;
    pthread_mutex_lock(&clients->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = client = add_client(clients, connection);
        make_room(clients, client);
    } else if (client) {
        remove_client(clients, client);
        *socket_context = NULL;
    }
    pthread_mutex_unlock(&clients->lock);
}

void clients_tick(struct clients *clients)
{
    int64_t now = clock_monotonic_ms();
    pthread_mutex_lock(&clients->lock);
    for (struct client *client = clients->newest; client; client = client->next) {
        int64_t deadline = atomic_load(&client->deadline_ms);
        if (deadline && now > deadline)
            close_client(client);
    }
    pthread_mutex_unlock(&clients->lock);
}
