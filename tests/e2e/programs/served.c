/* A program that serves a profiler and makes steps; what it does otherwise, standard input says. */
#define _GNU_SOURCE
#include "kymo/server.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int number;

static void say(const char *what, long value)
{
    printf("%s %ld\n", what, value);
    fflush(stdout);
}

static void on_start(const void *options, size_t size)
{
    (void)options;
    say("start", (long)size);
}

static void on_stop(void)
{
    say("stop", 0);
}

static void step(void)
{
    KYMO_STEP_SCOPE("train", number);
    {
        KYMO_SCOPE_AT(3, "detail");
        usleep(200);
    }
    number++;
    usleep(300);
}

/* A child that lives on, makes steps, and ends when its standard input does. */
static void fork_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        char byte;
        for (int i = 0; i < 2000; i++)
            step();
        while (read(0, &byte, 1) > 0)
            continue;
        _exit(0);
    }
    say("child", child);
}

static void obey(const char *word, const char *rest)
{
    if (strcmp(word, "serve") == 0)
        say("port", kymo_serve(*rest ? rest : NULL, 0));
    else if (strcmp(word, "port") == 0)
        say("port", kymo_serve(NULL, (unsigned)atoi(rest)));
    else if (strcmp(word, "unserve") == 0)
        say("unserved", kymo_serve_stop());
    else if (strcmp(word, "hooks") == 0)
        kymo_serve_hooks(on_start, on_stop);
    else if (strcmp(word, "record") == 0) {
        struct kymo_options options = KYMO_OPTIONS;
        options.output_dir = rest;
        say("recording", kymo_start(&options));
    } else if (strcmp(word, "unrecord") == 0)
        say("recorded", kymo_stop());
    else if (strcmp(word, "step") == 0)
        say("step", number);
    else if (strcmp(word, "fork") == 0)
        fork_child();
    else if (strcmp(word, "run") == 0)
        say("ran", system(rest));
    else if (strcmp(word, "ignore") == 0)
        signal(SIGCHLD, SIG_IGN);
    else if (strcmp(word, "exit") == 0)
        exit(0);
}

int main(void)
{
    char line[4096], rest[4096];
    struct pollfd input = {.fd = 0, .events = POLLIN};
    setvbuf(stdin, NULL, _IONBF, 0);
    for (;;) {
        if (poll(&input, 1, 0) == 0) {
            step();
            continue;
        }
        if (!fgets(line, sizeof line, stdin))
            return 0;
        char word[32] = "";
        rest[0] = '\0';
        sscanf(line, "%31s %4000[^\n]", word, rest);
        obey(word, rest);
    }
}
