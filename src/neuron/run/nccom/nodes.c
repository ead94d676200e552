/*
 * Starts nodes and waits for them.
 */
#include "neuron/run/nccom/nodes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

void *shared_memory(size_t size, struct error *err)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    error_set(err, "cannot allocate memory to share with the workers: %s", strerror(errno));
    return NULL;
}

/* The address at which all workers meet, unless the user chose it: a port that stays bound here, so
 * that nobody else gets it, and a key that strangers do not know. */
static bool set_address(int *port, struct error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    const char *given = getenv("NEURON_RT_ROOT_COMM_ID");
    char text[64];
    uint64_t key[2];
    if (given && *given)
        return true;
    *port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*port < 0 || setsockopt(*port, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) != 0 ||
        bind(*port, (struct sockaddr *)&address, size) != 0 ||
        getsockname(*port, (struct sockaddr *)&address, &size) != 0 ||
        getrandom(key, sizeof key, 0) != sizeof key)
        return error_set(err, "cannot get a port for the workers: %s", strerror(errno));
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(address.sin_port));
    setenv("NEURON_RT_ROOT_COMM_ID", text, 1);
    snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)key[0],
             (unsigned long long)key[1]);
    setenv("KYMO_NEURON_JOB_KEY", text, 1);
    return true;
}

static _Noreturn void run_one(uint32_t node,
                              bool (*run)(void *context, uint32_t node, struct error *err),
                              void *context, struct error *err)
{
    char name[24];
    snprintf(name, sizeof name, "node%u", node);
    setenv("KYMO_NEURON_NODE", name, 1);
    exit(run(context, node, err) ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* When one has failed, the others end by themselves: their workers miss the ones that are gone. */
static bool wait_for_all(const pid_t *ids, uint32_t count, struct error *errors, struct error *err)
{
    bool ok = true;
    for (uint32_t left = count; left > 0; left--) {
        int status;
        char end[CHILD_TEXT_SIZE];
        pid_t id = child_wait_any(&status);
        uint32_t node = 0;
        while (node < count && ids[node] != id)
            node++;
        if (node < count && child_has_succeeded(status))
            continue;
        if (ok && node == count)
            error_set(err, "cannot tell how a node ended");
        else if (ok && errors[node].text[0])
            *err = errors[node];
        else if (ok)
            error_set(err, "node %u %s", node, child_end_text(status, end));
        ok = false;
    }
    return ok;
}

/* Errors come back through shared memory. When a node cannot be started, those that were are ended
 * and waited for. */
bool nodes_run(uint32_t count, bool (*run)(void *context, uint32_t node, struct error *err),
               void *context, struct error *err)
{
    int port = -1;
    struct error *errors = shared_memory(count * sizeof *errors, err);
    if (!errors)
        return false;
    pid_t *ids = mem_zeroed(count, sizeof *ids);
    bool ok = set_address(&port, err);
    uint32_t started = 0;
    for (; ok && started < count; started++) {
        ids[started] = child_fork(SIGTERM);
        if (ids[started] == 0) {
            mem_free(ids); /* the child does not come back */
            run_one(started, run, context, &errors[started]);
        }
        ok = ids[started] > 0 || error_set(err, "cannot start a node: %s", strerror(errno));
    }
    for (uint32_t i = 0; !ok && i < started; i++)
        if (ids[i] > 0)
            kill(ids[i], SIGTERM);
    started -= started > 0 && ids[started - 1] < 0;
    struct error failure;
    if (!wait_for_all(ids, started, errors, &failure) && ok) {
        *err = failure;
        ok = false;
    }
    if (port >= 0)
        close(port);
    munmap(errors, count * sizeof *errors);
    mem_free(ids);
    return ok;
}
