/*
 * All-reduces of 1 MiB between four ranks: threads of a process, processes of a node, and processes
 * of nodes of their own. Prints microseconds for one.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <nrt/nrt.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 4, BYTES = 1 << 20, WARM_UP = 20, TIMES = 200 };

static double *seconds; /* shared with processes */

static void must(NRT_STATUS status)
{
    if (status != NRT_SUCCESS) {
        fprintf(stderr, "%s\n", nrt_get_status_as_str(status));
        _exit(1);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void reduce(uint32_t rank, uint32_t core, nrt_tensor_t **in, nrt_tensor_t **out)
{
    static const uint32_t group[RANKS] = {0, 1, 2, 3};
    nrt_cc_comm_t comm = {.replica_group = (uint32_t *)group,
                          .rank = rank,
                          .rank_n = RANKS,
                          .ctx_device_id = rank,
                          .ctx_device_count = RANKS,
                          .vnc = core};
    nrt_tensor_list_t inputs = {in, 1}, outputs = {out, 1};
    nrt_cc_context_t *context;
    nrta_seq_t sequence;
    bool done = false;
    must(nrta_cc_prepare(&comm, &inputs, &outputs, NRT_DTYPE_FLOAT32, NRT_OP_ADD, NRT_CC_ALLREDUCE,
                         &context));
    must(nrta_cc_schedule(&context, 0, NULL, &sequence));
    while (!done) {
        must(nrta_is_completed(sequence, &done));
        if (!done)
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
}

struct place {
    uint32_t rank, core;
    pthread_t thread;
};

static void *rank_main(void *argument)
{
    const struct place *place = argument;
    nrt_tensor_t *in, *out;
    double start = 0;
    must(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)place->core, BYTES, "in", &in));
    must(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)place->core, BYTES, "out", &out));
    must(nrt_build_global_comm((int)place->core, place->rank, RANKS));
    for (int i = 0; i < WARM_UP + TIMES; i++) {
        if (i == WARM_UP)
            start = now();
        reduce(place->rank, place->core, &in, &out);
    }
    if (place->rank == 0)
        *seconds = now() - start;
    return NULL;
}

static void process_main(uint32_t first, uint32_t count)
{
    struct place places[RANKS];
    char cores[32];
    snprintf(cores, sizeof cores, "%u-%u", first, first + count - 1);
    setenv("NEURON_RT_VISIBLE_CORES", cores, 1);
    setenv("KYMO_NEURON_JOB_CORES", "0-3", 1);
    must(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    for (uint32_t i = 0; i < count; i++) {
        places[i] = (struct place){.rank = first + i, .core = i};
        pthread_create(&places[i].thread, NULL, rank_main, &places[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        pthread_join(places[i].thread, NULL);
    nrt_close();
    _exit(0);
}

static void run(const char *name, uint32_t processes, bool has_nodes)
{
    for (uint32_t i = 0; i < processes; i++) {
        char node[16];
        snprintf(node, sizeof node, "bench%u", has_nodes ? i : 0);
        setenv("KYMO_NEURON_NODE", node, 1);
        if (fork() == 0)
            process_main(i * (RANKS / processes), RANKS / processes);
    }
    for (uint32_t i = 0; i < processes; i++) {
        int status = 0;
        wait(&status);
        if (status != 0)
            exit(1);
    }
    printf("%s %g\n", name, *seconds / TIMES * 1e6);
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    char text[32];
    int file = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(file, (struct sockaddr *)&address, size) != 0 ||
        getsockname(file, (struct sockaddr *)&address, &size) != 0)
        return 1;
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(address.sin_port));
    setenv("NEURON_RT_ROOT_COMM_ID", text, 1);
    setenv("KYMO_NEURON_INSTANCE", "trn1.32xlarge", 1);
    seconds =
        mmap(NULL, sizeof *seconds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    run("threads", 1, false);
    run("processes", RANKS, false);
    run("nodes", RANKS, true);
    return 0;
}
