/*
 * A program of a runtime with a trace, told what to do by its arguments, one after the other:
 *
 *   init, close, load CORE, exec N, unload, start [one], stop, fetch, begin DIR, end, fork,
 * threads, exit and _exit, while another thread executes
 *
 * What functions return is printed, and of a fetch its JSON.
 */
#include "published.h"

#include <kymo/kymo.h>
#include <nrt/nrt_sys_trace.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static nrt_model_t *model;

static void *execute_for_ever(void *ready)
{
    nrt_model_t *mine;
    nrt_load("neff", 4, 1, -1, &mine);
    for (unsigned i = 0;; i++) {
        nrt_execute(mine, NULL, NULL);
        if (i == 10)
            pthread_barrier_wait(ready);
    }
    return NULL;
}

static void *execute_some(void *core)
{
    nrt_model_t *mine;
    nrt_load("neff", 4, (int)(intptr_t)core, -1, &mine);
    for (int i = 0; i < 200; i++)
        nrt_execute(mine, NULL, NULL);
    nrt_unload(mine);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, execute_some, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void run_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        nrt_execute(model, NULL, NULL);
        printf("again %d\n", nrt_init(NRT_FRAMEWORK_TYPE_T_ONE, "", ""));
        nrt_execute(model, NULL, NULL);
        exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

static void start(bool one)
{
    nrt_sys_trace_config_t *config;
    nrt_sys_trace_config_allocate(&config);
    for (uint32_t core = 0; one && core < 128; core++)
        nrt_sys_trace_config_set_capture_enabled_for_nc(config, core, core == 2);
    printf("start %d\n", nrt_sys_trace_start(config));
    nrt_sys_trace_config_free(config);
}

static void fetch(void)
{
    char *buffer = NULL;
    size_t size = 0;
    NRT_STATUS status = nrt_sys_trace_fetch_events(&buffer, &size, NULL);
    printf("fetch %d\n", status);
    if (status == NRT_SUCCESS) {
        for (size_t i = 0; i < size; i++)
            buffer[i] = (char)(buffer[i] == '\n' ? ' ' : buffer[i]);
        printf("%.*s\n", (int)size, buffer);
        nrt_sys_trace_buffer_free(buffer);
    }
}

static void begin(char *directory)
{
    struct kymo_options options = KYMO_OPTIONS;
    options.output_dir = directory;
    printf("begin %d\n", kymo_start(&options));
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *next = i + 1 < argc ? argv[i + 1] : "";
        fflush(stdout);
        if (strcmp(argv[i], "init") == 0)
            printf("init %d\n", nrt_init(NRT_FRAMEWORK_TYPE_T_ONE, "", ""));
        else if (strcmp(argv[i], "close") == 0)
            nrt_close();
        else if (strcmp(argv[i], "load") == 0)
            nrt_load("neff", 4, atoi(argv[++i]), -1, &model);
        else if (strcmp(argv[i], "exec") == 0)
            for (int count = atoi(argv[++i]); count > 0; count--)
                nrt_execute(model, NULL, NULL);
        else if (strcmp(argv[i], "unload") == 0)
            nrt_unload(model);
        else if (strcmp(argv[i], "start") == 0)
            start(strcmp(next, "one") == 0);
        else if (strcmp(argv[i], "stop") == 0)
            printf("stop %d\n", nrt_sys_trace_stop());
        else if (strcmp(argv[i], "fetch") == 0)
            fetch();
        else if (strcmp(argv[i], "begin") == 0)
            begin(argv[++i]);
        else if (strcmp(argv[i], "end") == 0)
            printf("end %d\n", kymo_stop());
        else if (strcmp(argv[i], "fork") == 0)
            run_child();
        else if (strcmp(argv[i], "threads") == 0)
            run_threads();
        else if (strcmp(argv[i], "exit") == 0 || strcmp(argv[i], "_exit") == 0) {
            pthread_t thread;
            pthread_barrier_t ready;
            pthread_barrier_init(&ready, NULL, 2);
            pthread_create(&thread, NULL, execute_for_ever, &ready);
            pthread_barrier_wait(&ready);
            if (argv[i][0] == '_')
                _exit(0);
            exit(0);
        }
    }
    return 0;
}
