/*
 * Uses the stand-in runtime and prints everything it is told; test_nrt.py runs it with and without
 * the interposer. nrt_barrier is not there: it is called when an argument says so. With "threads"
 * several threads use it at once and a child meanwhile, with "threads alone" no child.
 */
#include "published.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma weak nrt_barrier

enum { ROUNDS = 10 };

static void rounds(nrt_model_t *model, nrt_tensor_t *tensor)
{
    char out[64] = "", in[64];
    for (int i = 0; i < ROUNDS; i++) {
        memset(in, 'a' + i, sizeof in);
        int wrote = nrt_tensor_write(tensor, in, (size_t)i, sizeof in - (size_t)i);
        int executed = nrt_execute(model, NULL, NULL);
        int read = nrt_tensor_read(tensor, out, 0, sizeof out);
        printf("%d %d %d %.64s\n", wrote, executed, read, out);
    }
    printf("%d\n", nrt_tensor_write(tensor, in, 1, sizeof in)); /* too long */
}

static void scheduling(nrt_model_t *model)
{
    nrta_seq_t sequence = 0;
    for (int i = 0; i < 3; i++) {
        bool done = false;
        int asked = 0;
        int status = nrta_execute_schedule(model, NULL, NULL, 0, NULL, &sequence);
        for (; !done; asked++)
            nrta_is_completed(sequence, &done);
        printf("%d %llx after %d\n", status, (unsigned long long)sequence, asked);
    }
    printf("%d\n", nrta_execute_schedule(model, NULL, NULL, 1, NULL, &sequence));
}

static void *use(void *number)
{
    nrt_tensor_t *tensors[50];
    char name[32], byte = 0;
    int core = (int)(intptr_t)number;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 50; i++) {
            snprintf(name, sizeof name, "tensor %d", i);
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_T_ZERO, core, (size_t)i + 1, name,
                                &tensors[i]);
        }
        for (int i = 0; i < 50; i++) {
            nrta_seq_t sequence = 0;
            bool done = false;
            nrt_tensor_write(tensors[i], &byte, (size_t)i, 1);
            nrta_execute_schedule(NULL, NULL, NULL, 0, NULL, &sequence);
            nrta_is_completed(sequence, &done);
        }
        for (int i = 0; i < 50; i++)
            nrt_tensor_free(&tensors[(i * 7 + round) % 50]);
    }
    return NULL;
}

static int threads(bool with_child)
{
    pthread_t thread[4];
    int status = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, use, (void *)(intptr_t)i);
    pid_t child = with_child ? fork() : -1;
    if (child == 0) {
        use((void *)(intptr_t)9);
        exit(0); /* writes its session */
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    if (child > 0)
        waitpid(child, &status, 0);
    return status != 0;
}

int main(int argc, char **argv)
{
    nrt_model_t *model = NULL;
    nrt_tensor_t *tensor = NULL;
    uint32_t cores = 0;
    if (argc > 1 && strcmp(argv[1], "missing") == 0) {
        printf("%d\n", nrt_barrier(0, 0, 1));
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "threads") == 0)
        return threads(argc == 2);
    errno = ERANGE;
    printf("%d %u", nrt_get_visible_nc_count(&cores), cores);
    printf(" %d\n", errno == ERANGE);
    printf("%d\n", nrt_load("neff", 0, 2, -1, &model));
    int status = nrt_load("neff", 4, 2, -1, &model);
    printf("%d %d\n", status, errno == EDOM);
    printf("%d\n", nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_T_ZERO, 2, 64, "input \"0\"", &tensor));
    printf("%zu\n", nrt_tensor_get_size(tensor));
    rounds(model, tensor);
    scheduling(model);
    nrt_tensor_free(&tensor);
    printf("%d\n", tensor == NULL);
    printf("%d\n", nrt_unload(model));
    return 0;
}
