/*
 * Cores and variables of workers. Variables that the user has set stay.
 */
#include "neuron/run/launch/seats.h"

#include "neuron/hardware/hardware.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static const char visible_cores[] = "NEURON_RT_VISIBLE_CORES", num_cores[] = "NEURON_RT_NUM_CORES",
                  root_address[] = "NEURON_RT_ROOT_COMM_ID";

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void set_number(const char *name, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    setenv(name, text, 1);
}

static void set_row(const char *name, const struct cores_row *row)
{
    char text[32];
    if (row->count == 1)
        return set_number(name, row->first);
    snprintf(text, sizeof text, "%u-%u", row->first, row->first + row->count - 1);
    setenv(name, text, 1);
}

/* Cores of the kind that the NEFF was compiled for. Runtimes of devices do not look at the
 * instance. */
static void set_machine(uint32_t core_version, uint32_t logical_size)
{
    static const char *const instances[] = {[3] = "trn2.48xlarge", [4] = "trn3.48xlarge"};
    static const char instance[] = "KYMO_NEURON_INSTANCE";
    if (!getenv(instance) && core_version < sizeof instances / sizeof *instances &&
        instances[core_version])
        setenv(instance, instances[core_version], 1);
    if (logical_size > 0 && !getenv("NEURON_LOGICAL_NC_CONFIG") &&
        !getenv("NEURON_RT_VIRTUAL_CORE_SIZE"))
        set_number("NEURON_LOGICAL_NC_CONFIG", logical_size);
}

void launch_here(uint32_t core_version, uint32_t logical_size)
{
    set_machine(core_version, logical_size);
    if (!getenv(visible_cores) && !getenv(num_cores))
        set_number(num_cores, 1);
}

/* ---- Cores --------------------------------------------------------------------------------- */

/* False when a variable has a value that the runtime will refuse. */
static bool read_machine(struct cores_machine *machine)
{
    const char *name = variable("KYMO_NEURON_INSTANCE");
    const struct instance_hardware *instance = hardware_instance(name ? name : "trn1.32xlarge");
    if (!instance)
        return false;
    const char *size = variable("NEURON_LOGICAL_NC_CONFIG");
    size = size ? size : variable("NEURON_RT_VIRTUAL_CORE_SIZE");
    uint32_t logical = size ? (uint32_t)strtoul(size, NULL, 10) : instance->logical_cores;
    if (logical == 0 || instance->core->cores_per_chip % logical != 0)
        return false;
    const char *node = variable("KYMO_NEURON_NODE");
    if (node && strchr(node, '/'))
        return false;
    *machine = (struct cores_machine){instance->name, node ? node : "", logical,
                                      instance->chips * instance->core->cores_per_chip / logical};
    return true;
}

/* The cores that the user's variables name; *any: wherever they are free. */
static bool choose_cores(uint32_t needed, struct cores_row *row, bool *any, struct error *err)
{
    const char *visible = variable(visible_cores), *number = variable(num_cores);
    *any = !visible;
    *row = (struct cores_row){.count = needed};
    if (visible && !cores_parse(visible, UINT32_MAX, row))
        return error_set(err, "%s=%s is not a range of cores", visible_cores, visible);
    if (!visible && number && strtoul(number, NULL, 10) > 0)
        row->count = (uint32_t)strtoul(number, NULL, 10);
    return row->count >= needed ||
           error_set(err, "%u workers need a core each; %s=%s", needed,
                     visible ? visible_cores : num_cores, visible ? visible : number);
}

static bool take_cores(struct seats *seats, const struct launch_options *launch, struct error *err)
{
    struct cores_machine machine;
    uint32_t needed = seats->cores_each * (seats->are_nodes ? 1 : launch->workers);
    if (!choose_cores(needed, &seats->cores, &seats->any, err))
        return false;
    if (launch->is_foreign || seats->are_nodes || !read_machine(&machine))
        return true;
    seats->lock = cores_take(&machine, CORES_RESERVE, seats->any, &seats->cores, err);
    seats->are_reserved = seats->lock >= 0;
    return seats->are_reserved;
}

/* ---- The address --------------------------------------------------------------------------- */

/* A port of this machine stays bound, so that nobody else gets it; the runtime of the first worker
 * may bind it as well and listens. Strangers do not know the key. */
static bool take_port(struct seats *seats, struct error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    char text[64];
    uint64_t key[2];
    seats->port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (seats->port < 0 ||
        setsockopt(seats->port, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) != 0 ||
        bind(seats->port, (struct sockaddr *)&address, size) != 0 ||
        getsockname(seats->port, (struct sockaddr *)&address, &size) != 0 ||
        getrandom(key, sizeof key, 0) != sizeof key)
        return error_set(err, "cannot get a port for the workers: %s", strerror(errno));
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(address.sin_port));
    setenv(root_address, text, 1);
    snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)key[0],
             (unsigned long long)key[1]);
    setenv("KYMO_NEURON_JOB_KEY", text, 1);
    return true;
}

bool seats_take(struct seats *seats, const struct launch_options *launch, struct error *err)
{
    *seats = (struct seats){.cores_each = launch->cores_each ? launch->cores_each : 1,
                            .are_nodes = launch->are_nodes,
                            .lock = -1,
                            .port = -1};
    set_machine(launch->core_version, launch->logical_size);
    if (take_cores(seats, launch, err) &&
        (launch->workers == 1 || variable(root_address) || take_port(seats, err)))
        return true;
    seats_give_back(seats);
    return false;
}

/* The runtime of a node takes its cores itself. */
static void enter_node(const struct seats *seats, uint32_t node)
{
    char name[24];
    snprintf(name, sizeof name, "node%u", node);
    setenv("KYMO_NEURON_NODE", name, 1);
    if (seats->any)
        set_number(num_cores, seats->cores_each);
    else
        set_row(visible_cores, &(struct cores_row){seats->cores.first, seats->cores_each});
}

void seats_enter(const struct seats *seats, uint32_t worker)
{
    if (seats->are_nodes)
        return enter_node(seats, worker);
    const struct cores_row own = {seats->cores.first + worker * seats->cores_each,
                                  seats->cores_each};
    set_row(visible_cores, &own);
    unsetenv(num_cores);
    if (seats->are_reserved)
        set_row("KYMO_NEURON_JOB_CORES", &seats->cores);
}

void seats_give_back(struct seats *seats)
{
    if (seats->lock >= 0)
        close(seats->lock);
    if (seats->port >= 0)
        close(seats->port);
}
