/*
 * Ranks in several processes: they exchange as threads of one process do, and end when one of them
 * does. Each test forks its processes; this one never initializes the runtime.
 */
#include "neuron/profile_file/ntff.h"
#include "runtime_model.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { RANKS_MAX = 16, LARGE = 48 * 1024, SMALL = 960, DIGEST = 2 };

/* In processes that cmocka does not know. */
#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                             \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define GOOD(call) CHECK((call) == NRT_SUCCESS)

/* ---- Processes ----------------------------------------------------------------------------- */

struct shared { /* by all processes of a test */
    uint64_t digests[RANKS_MAX][DIGEST];
    NRT_STATUS statuses[RANKS_MAX];
    int64_t took_ms[RANKS_MAX];
    long growth[RANKS_MAX];
    atomic_int progress;
};

struct test {
    struct shared *shared;
    void *scratch;
    const char *folder;
    struct small_neff neff;
    int port;
};

struct job {
    uint32_t ranks, processes; /* ranks are dealt out in turn where they do not divide */
    uint32_t nodes;            /* processes are dealt out to them; 0: one */
    bool has_no_address;
    void (*work)(struct test *test, uint32_t rank, uint32_t count, uint32_t core);
};

struct rank_thread {
    struct test *test;
    const struct job *job;
    uint32_t rank, core;
    pthread_t id;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void wait_for_progress(const struct test *test, int until)
{
    while (test->shared->progress < until)
        poll(NULL, 0, 1);
}

static void *rank_main(void *argument)
{
    struct rank_thread *own = argument;
    own->job->work(own->test, own->rank, own->job->ranks, own->core);
    return NULL;
}

static void set(const char *name, const char *format, uint32_t a, uint32_t b)
{
    char text[64];
    snprintf(text, sizeof text, format, a, b);
    setenv(name, text, 1);
}

/* Ranks first .. first + count - 1 on the cores of the same numbers. */
static void process_main(struct test *test, const struct job *job, uint32_t process, uint32_t first,
                         uint32_t count)
{
    struct rank_thread threads[RANKS_MAX];
    set("NEURON_RT_VISIBLE_CORES", "%u-%u", first, first + count - 1);
    set("KYMO_NEURON_JOB_CORES", "%u-%u", 0, job->ranks - 1);
    if (job->nodes > 1)
        set("KYMO_NEURON_NODE", "node%u", process % job->nodes, 0);
    if (!job->has_no_address)
        set("NEURON_RT_ROOT_COMM_ID", "127.0.0.1:%u", (uint32_t)test->port, 0);
    GOOD(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    for (uint32_t i = 0; i < count; i++) {
        threads[i] = (struct rank_thread){test, job, first + i, i, 0};
        CHECK(pthread_create(&threads[i].id, NULL, rank_main, &threads[i]) == 0);
    }
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i].id, NULL);
    nrt_close();
    _exit(0);
}

/* A port that is free, and stays so: it is bound. */
static int reserve_port(int *socket_of_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    *socket_of_port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(*socket_of_port, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    assert_int_equal(bind(*socket_of_port, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(*socket_of_port, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

static void start_all(struct test *test, const struct job *job, pid_t *ids)
{
    for (uint32_t p = 0, first = 0; p < job->processes; p++) {
        uint32_t count = job->ranks / job->processes + (p < job->ranks % job->processes);
        ids[p] = fork();
        if (ids[p] == 0)
            process_main(test, job, p, first, count);
        assert_true(ids[p] > 0);
        first += count;
    }
}

/* Waits for all; a process that is killed is expected to be. */
static void end_all(const struct job *job, const pid_t *ids, int32_t killed)
{
    for (uint32_t p = 0; p < job->processes; p++) {
        int status;
        assert_int_equal(waitpid(ids[p], &status, 0), ids[p]);
        if ((int32_t)p == killed)
            assert_true(WIFSIGNALED(status));
        else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("process %u ended with status %x", p, (unsigned)status);
    }
}

static void run(struct test *test, const struct job *job, int32_t killed)
{
    pid_t ids[RANKS_MAX];
    int bound;
    test->port = reserve_port(&bound);
    memset(test->shared, 0, sizeof *test->shared);
    start_all(test, job, ids);
    end_all(job, ids, killed);
    close(bound);
}

static int begin(void **state)
{
    static struct test test;
    int result = machine_make(state);
    const struct scratch *scratch = *state;
    test = (struct test){.folder = scratch->path, .scratch = *state};
    test.shared =
        mmap(NULL, sizeof *test.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test.neff = small_neff((struct small_options){.workers = 4});
    setenv("NEURON_RT_EXEC_TIMEOUT", "60", 1);
    setenv("KYMO_NEURON_JOB_KEY", "a test", 1);
    *(struct test **)state = &test;
    return test.shared == MAP_FAILED ? -1 : result;
}

static int end(void **state)
{
    struct test *test = *state;
    munmap(test->shared, sizeof *test->shared);
    free(test->neff.bytes);
    return machine_remove(&test->scratch);
}

/* ---- All collectives of all types ---------------------------------------------------------- */

enum { KINDS = COLLECTIVE_BARRIER + 1, COLLECTIVES = KINDS * (DTYPE_COUNT - 1) };

struct mix {
    struct core_program program;
    struct instruction sync[COLLECTIVES + 1];
    struct variable variables[2];
    struct collective collectives[COLLECTIVES];
    struct origin origin;
    uint32_t pairs[2 * RANKS_MAX], halves[RANKS_MAX];
};

/* Each waits for the one before. Half of them have data that goes with the message, half larger. */
static uint64_t mix_collective(struct mix *mix, uint32_t index, uint32_t ranks, uint64_t offset)
{
    static const uint8_t alus[] = {ALU_ADD, ALU_MULTIPLY, ALU_MAX, ALU_MIN};
    uint8_t kind = (uint8_t)(index % KINDS), dtype = (uint8_t)(1 + index / KINDS);
    uint64_t bytes = index % 2 ? LARGE : SMALL;
    struct collective *item = &mix->collectives[index];
    *item = (struct collective){.kind = kind,
                                .dtype = dtype,
                                .alu = alus[index % 4],
                                .semaphore = 0,
                                .increment = 1,
                                .input = 0,
                                .output = 1,
                                .output_offset = offset,
                                .input_bytes = bytes,
                                .output_bytes = bytes,
                                .channel = index % 3};
    uint32_t members = ranks;
    if (kind == COLLECTIVE_PERMUTE) {
        item->group_size = 2;
        item->group_count = ranks;
        item->members = mix->pairs;
    } else if (dtype % 3 == 0) {
        item->group_size = members = ranks / 2;
        item->group_count = 2;
        item->members = mix->halves;
    }
    if (kind == COLLECTIVE_ALL_GATHER)
        item->output_bytes = bytes * members;
    else if (kind == COLLECTIVE_REDUCE_SCATTER)
        item->output_bytes = bytes / members;
    else if (kind == COLLECTIVE_BARRIER)
        item->input_bytes = item->output_bytes = 0;
    mix->sync[index] = small_instruction(OP_TRIGGER_COLLECTIVE, index);
    mix->sync[index].wait_semaphore = index > 0 ? 0 : NO_SEMAPHORE;
    mix->sync[index].wait_value = index;
    return offset + item->output_bytes;
}

static struct small_neff mix_neff(uint32_t ranks)
{
    struct mix *mix = calloc(1, sizeof *mix);
    uint64_t size = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        mix->pairs[2 * i] = i;
        mix->pairs[2 * i + 1] = (i + 1) % ranks;
        mix->halves[i] = i % (ranks / 2) * 2 + i / (ranks / 2);
    }
    for (uint32_t i = 0; i < COLLECTIVES; i++)
        size = mix_collective(mix, i, ranks, size);
    mix->sync[COLLECTIVES] = small_instruction(OP_EVENT_SEMAPHORE, 0);
    mix->sync[COLLECTIVES].wait_semaphore = 0;
    mix->sync[COLLECTIVES].wait_value = COLLECTIVES;
    mix->variables[0] = small_variable("input0", VARIABLE_INPUT);
    mix->variables[1] = small_variable("output0", VARIABLE_OUTPUT);
    for (int i = 0; i < 2; i++) {
        mix->variables[i].dtype = DTYPE_UINT8;
        mix->variables[i].rank = 1;
        mix->variables[i].size = i == 0 ? LARGE : size;
        mix->variables[i].shape[0] = (uint32_t)mix->variables[i].size;
    }
    mix->origin = (struct origin){"/layer", "mix", "mix", "", "", 0, 0, 0};
    mix->program = (struct core_program){.variables = mix->variables,
                                         .variable_count = 2,
                                         .collectives = mix->collectives,
                                         .collective_count = COLLECTIVES,
                                         .origins = &mix->origin,
                                         .origin_count = 1,
                                         .core_version = 2};
    mix->program.code[ENGINE_SYNC] = mix->sync;
    mix->program.code_count[ENGINE_SYNC] = COLLECTIVES + 1;
    const struct neff_source source = {
        .name = "mix", .programs = &mix->program, .program_count = 1, .worker_count = ranks};
    struct small_neff neff;
    struct error err;
    if (!neff_encode(&source, &neff.bytes, &neff.size, &err))
        fail_msg("%s", err.text);
    free(mix);
    return neff;
}

static uint64_t digest(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001B3);
    return hash;
}

/* Of all notifications; what a file says about the process and the time is not part of it. */
static uint64_t digest_profile(const char *path)
{
    struct error err;
    struct ntff *ntff = ntff_open(path, &err);
    CHECK(ntff);
    size_t count;
    uint64_t hash = 1;
    const struct ntff_block *blocks = ntff_blocks(ntff, &count);
    for (size_t i = 0; i < count; i++) {
        struct notification *items = calloc(blocks[i].count, sizeof *items);
        CHECK(ntff_read_block(ntff, i, items, &err));
        for (uint32_t k = 0; k < blocks[i].count; k++) {
            const uint64_t all[] = {items[k].time, items[k].id,    items[k].value, items[k].detail,
                                    items[k].type, items[k].phase, items[k].unit};
            hash = digest(hash, all, sizeof all);
        }
        free(items);
    }
    CHECK(count > 0);
    ntff_close(ntff);
    return hash;
}

static void mix_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    nrt_model_t *model;
    nrt_tensor_info_array_t *info;
    struct rng rng = {.state = rank + 1};
    char path[256];
    GOOD(nrt_load_collectives(test->neff.bytes, test->neff.size, (int)core, -1, rank, count,
                              &model));
    GOOD(nrt_get_model_tensor_info(model, &info));
    size_t size = info->tensor_array[1].size;
    GOOD(nrt_free_model_tensor_info(info));
    struct loaded all = {.model = model};
    GOOD(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)core, LARGE, "in", &all.input));
    GOOD(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)core, size, "out", &all.output));
    GOOD(nrt_allocate_tensor_set(&all.inputs));
    GOOD(nrt_allocate_tensor_set(&all.outputs));
    GOOD(nrt_add_tensor_to_tensor_set(all.inputs, "input0", all.input));
    GOOD(nrt_add_tensor_to_tensor_set(all.outputs, "output0", all.output));
    uint8_t *in = malloc(LARGE), *out = malloc(size);
    snprintf(path, sizeof path, "%s/%u.ntff", test->folder, rank);
    for (int i = 0; i < 2; i++) {
        rng_fill(&rng, in, LARGE);
        GOOD(nrt_tensor_write(all.input, in, 0, LARGE));
        if (i == 1)
            GOOD(nrt_profile_start(model, path));
        GOOD(nrt_execute(model, all.inputs, all.outputs));
        GOOD(nrt_tensor_read(all.output, out, 0, size));
        test->shared->digests[rank][0] = digest(test->shared->digests[rank][0], out, size);
    }
    GOOD(nrt_profile_stop(path));
    test->shared->digests[rank][1] = digest_profile(path);
    free(in);
    free(out);
    nrt_destroy_tensor_set(&all.inputs);
    nrt_destroy_tensor_set(&all.outputs);
    nrt_tensor_free(&all.input);
    nrt_tensor_free(&all.output);
    GOOD(nrt_unload(model));
}

TEST(processes_exchange_what_threads_do)
{
    enum { RANKS = 4 };
    static const struct job jobs[] = {
        {.ranks = RANKS, .processes = 1, .has_no_address = true, .work = mix_work},
        {.ranks = RANKS, .processes = 1, .work = mix_work},
        {.ranks = RANKS, .processes = 4, .work = mix_work},
        {.ranks = RANKS, .processes = 3, .work = mix_work},
        {.ranks = RANKS, .processes = 2, .nodes = 2, .work = mix_work},
        {.ranks = RANKS, .processes = 4, .nodes = 2, .work = mix_work},
    };
    struct test *test = *state;
    uint64_t expected[RANKS][DIGEST];
    free(test->neff.bytes);
    test->neff = mix_neff(RANKS);
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        run(test, &jobs[i], -1);
        if (i == 0)
            memcpy(expected, test->shared->digests, sizeof expected);
        assert_memory_equal(test->shared->digests, expected, sizeof expected);
    }
    assert_true(expected[0][0] != expected[1][0] && expected[0][1] != 0);
}

/* ---- Calls of the host --------------------------------------------------------------------- */

static void run_scheduled(uint32_t rank, uint32_t count, uint32_t core)
{
    enum { ITEMS = 20001 };
    uint32_t group[RANKS_MAX];
    static _Thread_local int32_t data[ITEMS];
    nrt_tensor_t *in, *out;
    for (uint32_t i = 0; i < count; i++)
        group[i] = count - 1 - i;
    nrt_cc_comm_t comm = {.replica_group = group,
                          .rank = count - 1 - rank,
                          .rank_n = count,
                          .ctx_device_id = rank,
                          .ctx_device_count = count,
                          .vnc = core};
    GOOD(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)core, sizeof data, "i", &in));
    GOOD(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)core, sizeof data, "o", &out));
    for (int i = 0; i < ITEMS; i++)
        data[i] = (int32_t)(rank + 1) * i;
    GOOD(nrt_tensor_write(in, data, 0, sizeof data));
    nrt_tensor_list_t inputs = {&in, 1}, outputs = {&out, 1};
    nrt_cc_context_t *context;
    nrta_seq_t sequence;
    bool done = false;
    GOOD(nrt_cc_global_comm_init(core, rank, count));
    GOOD(nrta_cc_prepare(&comm, &inputs, &outputs, NRT_DTYPE_INT32, NRT_OP_ADD, NRT_CC_ALLREDUCE,
                         &context));
    GOOD(nrta_cc_schedule(&context, 1, NULL, &sequence));
    while (!done)
        GOOD(nrta_is_completed(sequence, &done));
    GOOD(nrt_tensor_read(out, data, 0, sizeof data));
    for (int i = 0; i < ITEMS; i++)
        CHECK(data[i] == (int32_t)(count * (count + 1) / 2) * i);
    nrt_tensor_free(&in);
    nrt_tensor_free(&out);
}

static void host_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    uint32_t own[2000], all[2000 * 8];
    GOOD(nrt_build_global_comm((int)core, rank, count));
    for (uint32_t n = 1; n <= COUNT_OF(own); n = n * 7 + 1) {
        for (uint32_t i = 0; i < n; i++)
            own[i] = rank * 10000 + i;
        GOOD(nrt_all_gather((int)core, rank, count, n * sizeof *own, own, all));
        for (uint32_t i = 0; i < n * count; i++)
            CHECK(all[i] == i / n * 10000 + i % n);
    }
    for (int i = 1; i <= 20; i++) {
        test->shared->progress++;
        GOOD(nrt_barrier((int)core, rank, count));
        CHECK(test->shared->progress >= i * (int)count);
        GOOD(nrt_barrier((int)core, rank, count));
    }
    run_scheduled(rank, count, core);
}

TEST(calls_of_the_host_reach_other_processes)
{
    run(*state, &(struct job){.ranks = 5, .processes = 3, .work = host_work}, -1);
    run(*state, &(struct job){.ranks = 8, .processes = 8, .nodes = 3, .work = host_work}, -1);
}

/* ---- Ranks that are gone ------------------------------------------------------------------- */

/* Until the others fail; the last rank kills its process, or closes, in the middle. */
static void execute_until_lost(struct test *test, uint32_t rank, uint32_t count, uint32_t core,
                               bool is_killed)
{
    enum { BEFORE = 3 };
    nrt_model_t *model;
    GOOD(nrt_load_collectives(test->neff.bytes, test->neff.size, (int)core, -1, rank, count,
                              &model));
    struct loaded all = load_with(model, (int)core);
    NRT_STATUS status = NRT_SUCCESS;
    int64_t began = now_ms();
    for (int i = 0; status == NRT_SUCCESS; i++) {
        if (i == BEFORE && rank == count - 1) {
            if (is_killed)
                raise(SIGKILL);
            return;
        }
        began = now_ms();
        status = nrt_execute(all.model, all.inputs, all.outputs);
    }
    test->shared->took_ms[rank] = now_ms() - began;
    test->shared->statuses[rank] = status;
    CHECK(nrt_barrier((int)core, rank, count) == NRT_EXEC_HW_ERR_COLLECTIVES);
    CHECK(nrt_execute(all.model, all.inputs, all.outputs) == NRT_EXEC_HW_ERR_COLLECTIVES);
    unload_small(&all);
}

static void killed_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    execute_until_lost(test, rank, count, core, true);
}

static void leaving_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    execute_until_lost(test, rank, count, core, false);
}

static void expect_lost(const struct test *test, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks - 1; i++) {
        assert_int_equal(test->shared->statuses[i], NRT_EXEC_HW_ERR_COLLECTIVES);
        assert_true(test->shared->took_ms[i] < 5000);
    }
}

TEST(a_killed_process_ends_the_others)
{
    run(*state, &(struct job){.ranks = 4, .processes = 4, .work = killed_work}, 3);
    expect_lost(*state, 4);
    run(*state, &(struct job){.ranks = 4, .processes = 4, .nodes = 2, .work = killed_work}, 3);
    expect_lost(*state, 4);
    run(*state, &(struct job){.ranks = 4, .processes = 3, .work = leaving_work}, -1);
    expect_lost(*state, 4);
}

/* ---- Sending and receiving ------------------------------------------------------------------ */

static size_t wait_for_request(nrt_async_sendrecv_request_t *request)
{
    bool done = false;
    size_t size = 0;
    while (!done) {
        GOOD(nrt_async_sendrecv_test_request(request, &done, &size));
        poll(NULL, 0, done ? 0 : 1);
    }
    return size;
}

/* Each rank sends to the next and receives from the one before, of which each has a channel. */
static void sendrecv_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    enum { BYTES = 1 << 20, MESSAGES = 50 };
    nrt_async_sendrecv_comm_t *to, *from;
    nrt_async_sendrecv_request_t *sent[MESSAGES], *received;
    nrt_tensor_t *out, *in;
    uint8_t *data = malloc(BYTES);
    bool done = false;
    GOOD(nrt_async_sendrecv_init((int)core));
    GOOD(nrt_async_sendrecv_connect("127.0.0.1", (int)((rank + 1) % count), (int)core, &to));
    GOOD(nrt_async_sendrecv_accept("127.0.0.1", (int)((rank + count - 1) % count), (int)core,
                                   &from));
    GOOD(nrt_build_global_comm((int)core, rank, count));
    for (nrt_async_sendrecv_comm_t **comm = (nrt_async_sendrecv_comm_t *[]){to, from, NULL}; *comm;
         comm++, done = false)
        while (!done)
            GOOD(nrt_async_sendrecv_test_comm(*comm, &done));
    GOOD(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)core, BYTES, "out", &out));
    GOOD(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)core, BYTES, "in", &in));
    memset(data, (int)rank + 1, BYTES);
    GOOD(nrt_tensor_write(out, data, 0, BYTES));
    for (int i = 0; i < MESSAGES; i++)
        GOOD(nrt_async_sendrecv_send_tensor(out, 0, i % 2 ? (size_t)BYTES - (size_t)i : 100, to,
                                            &sent[i]));
    for (int i = 0; i < MESSAGES; i++) {
        GOOD(nrt_tensor_memset(in, 0, 0, BYTES));
        GOOD(nrt_async_sendrecv_recv_tensor(in, 8, 1 << 19, from, &received));
        size_t expected = i % 2 ? 1 << 19 : 100;
        CHECK(wait_for_request(received) == expected);
        GOOD(nrt_tensor_read(in, data, 0, BYTES));
        uint8_t mark = (uint8_t)((rank + count - 1) % count + 1);
        CHECK(data[7] == 0 && data[8] == mark && data[7 + expected] == mark &&
              data[8 + expected] == 0);
    }
    for (int i = 0; i < MESSAGES; i++)
        CHECK(wait_for_request(sent[i]) == (i % 2 ? 1 << 19 : 100));
    GOOD(nrt_barrier((int)core, rank, count));
    free(data);
    if (rank == count - 1 && test->shared->progress == 1)
        raise(SIGKILL);
    if (rank == count - 2 && test->shared->progress == 1) {
        size_t size;
        NRT_STATUS status = nrt_async_sendrecv_send_tensor(out, 0, 100, to, &sent[0]);
        GOOD(status);
        for (done = false; !done; poll(NULL, 0, 1))
            status = nrt_async_sendrecv_test_request(sent[0], &done, &size);
        CHECK(status == NRT_FAILURE);
    }
    GOOD(nrt_async_sendrecv_close((int)core));
    nrt_tensor_free(&out);
    nrt_tensor_free(&in);
}

static void sendrecv_killed_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    test->shared->progress = 1;
    sendrecv_work(test, rank, count, core);
}

TEST(cores_of_different_processes_send_and_receive)
{
    run(*state, &(struct job){.ranks = 3, .processes = 3, .work = sendrecv_work}, -1);
    run(*state, &(struct job){.ranks = 4, .processes = 2, .nodes = 2, .work = sendrecv_work}, -1);
    run(*state, &(struct job){.ranks = 2, .processes = 2, .work = sendrecv_killed_work}, 1);
}

/* ---- Rendezvous ---------------------------------------------------------------------------- */

static void lonely_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    (void)test, (void)rank;
    int64_t began = now_ms();
    CHECK(nrt_barrier((int)core, 0, count + 1) == NRT_TIMEOUT); /* one more than there are */
    CHECK(now_ms() - began < 5000);
}

static void taken_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    (void)test;
    CHECK(nrt_build_global_comm((int)core, rank, count + 1) == NRT_FAILURE);
    CHECK(nrt_barrier((int)core, rank, count + 1) == NRT_FAILURE);
}

/* The ranks of two processes count differently. */
static void sizes_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    if (rank == 0) {
        GOOD(nrt_build_global_comm((int)core, 0, count));
        test->shared->progress = 1;
        CHECK(nrt_build_global_comm((int)core, 0, count + 1) == NRT_INVALID);
        CHECK(nrt_barrier((int)core, 0, count) == NRT_TIMEOUT);
        wait_for_progress(test, 2);
    } else {
        wait_for_progress(test, 1);
        CHECK(nrt_barrier((int)core, rank, count + 1) == NRT_EXEC_HW_ERR_COLLECTIVES);
        test->shared->progress = 2;
    }
}

TEST(rendezvous_that_fail_say_so)
{
    struct test *test = *state;
    const struct job taken = {.ranks = 1, .processes = 1, .work = taken_work};
    pid_t ids[RANKS_MAX];
    int bound;
    setenv("NEURON_RT_EXEC_TIMEOUT", "1", 1);
    run(test, &(struct job){.ranks = 1, .processes = 1, .work = lonely_work}, -1);
    run(test, &(struct job){.ranks = 2, .processes = 2, .work = sizes_work}, -1);
    test->port = reserve_port(&bound);
    assert_int_equal(listen(bound, 1), 0);
    start_all(test, &taken, ids);
    end_all(&taken, ids, -1);
    close(bound);
}

/* ---- Strangers ----------------------------------------------------------------------------- */

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)},
                                  .sin_port = htons((uint16_t)port)};
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(file, (struct sockaddr *)&address, sizeof address) == 0)
        return file;
    close(file);
    return -1;
}

/* Header of a first message, as src/neuron/runtime/peers has it, so that what follows is looked at.
 */
static size_t stranger_bytes(struct rng *rng, uint8_t *bytes, size_t size)
{
    uint64_t length = rng_any_width(rng);
    size_t used = 16 + rng_below(rng, size - 16);
    rng_fill(rng, bytes, size);
    if (rng_below(rng, 4) == 0)
        return used;
    if (rng_below(rng, 2) == 0)
        length = 136 + 4 * rng_below(rng, 100);
    memcpy(bytes, &(uint32_t){0x4B52414E}, 4);
    memcpy(bytes + 4, &(uint16_t){1}, 2);
    memcpy(bytes + 6, &(uint16_t){(uint16_t)(rng_below(rng, 8) ? 1 : rng_below(rng, 12))}, 2);
    memcpy(bytes + 8, &length, 8);
    return used;
}

static void strange_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    enum { STRANGERS = 400, SILENT = 300 };
    static uint8_t bytes[4096];
    int silent[SILENT];
    struct rng rng = {.state = 7};
    if (rank == count - 1) {
        while ((silent[0] = connect_to(test->port)) < 0)
            poll(NULL, 0, 1);
        for (int i = 1; i < SILENT; i++)
            silent[i] = connect_to(test->port);
        for (int i = 0; i < STRANGERS; i++) {
            int file = connect_to(test->port);
            size_t size = stranger_bytes(&rng, bytes, sizeof bytes);
            CHECK(file >= 0);
            CHECK(send(file, bytes, size, MSG_NOSIGNAL) <= (ssize_t)size);
            close(file);
        }
    }
    for (int i = 0; i < 20; i++)
        GOOD(nrt_barrier((int)core, rank, count));
    for (int i = 0; rank == count - 1 && i < SILENT; i++)
        close(silent[i]);
}

TEST(strangers_neither_hang_nor_end_a_job)
{
    int64_t began = now_ms();
    run(*state, &(struct job){.ranks = 3, .processes = 3, .work = strange_work}, -1);
    assert_true(now_ms() - began < 10000);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void long_work(struct test *test, uint32_t rank, uint32_t count, uint32_t core)
{
    enum { BEFORE = 100, EXCHANGES = 1000, BYTES = 20000 };
    static _Thread_local uint8_t in[BYTES], out[BYTES * 4];
    long before = 0;
    int files = 0;
    for (int i = 0; i < BEFORE + EXCHANGES; i++) {
        if (i == BEFORE) {
            before = (long)memory_bytes();
            files = open_files();
        }
        uint32_t size = 1 + (uint32_t)(i * 7919) % (BYTES - 1);
        in[0] = (uint8_t)i;
        GOOD(nrt_all_gather((int)core, rank, count, size, in, out));
        CHECK(out[(count - 1) * size] == (uint8_t)i);
    }
    test->shared->growth[rank] = (long)memory_bytes() - before;
    CHECK(open_files() == files);
}

TEST(exchanges_leave_nothing)
{
    struct test *test = *state;
    run(test, &(struct job){.ranks = 3, .processes = 3, .nodes = 2, .work = long_work}, -1);
    for (int i = 0; i < 3 && !IS_SANITIZED; i++)
        assert_true(test->shared->growth[i] < 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes_exchange_what_threads_do, begin, end),
        cmocka_unit_test_setup_teardown(calls_of_the_host_reach_other_processes, begin, end),
        cmocka_unit_test_setup_teardown(a_killed_process_ends_the_others, begin, end),
        cmocka_unit_test_setup_teardown(cores_of_different_processes_send_and_receive, begin, end),
        cmocka_unit_test_setup_teardown(rendezvous_that_fail_say_so, begin, end),
        cmocka_unit_test_setup_teardown(strangers_neither_hang_nor_end_a_job, begin, end),
        cmocka_unit_test_setup_teardown(exchanges_leave_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
