/*
 * kymo capture --connect: profiles of running programs, over the network.
 */
#include "cli/capture_connect.h"

#include "base/clock.h"
#include "capture/client/remote.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RETRIES = 100 };
#define MAX_DURATION_MS ((unsigned long)7 * 24 * 3600 * 1000)

/* The state that progress is computed from. */
struct watch {
    const struct connect_options *options;
    int64_t start_ms;
    bool is_terminal, is_shown, is_ending;
    unsigned reported; /* percent */
};

/* Recording takes a known time; then hosts finish one after another. */
static void report(struct watch *watch, size_t finished, size_t hosts)
{
    int64_t passed_ms = clock_monotonic_ms() - watch->start_ms;
    unsigned long duration_ms = watch->options->duration_ms + 1;
    unsigned recorded = (unsigned long)passed_ms < duration_ms
                            ? (unsigned)((unsigned long)passed_ms * 60 / duration_ms)
                            : 60;
    unsigned percent = recorded + (unsigned)(finished * 39 / hosts);
    if (watch->options->progress_fd == ULONG_MAX || percent <= watch->reported)
        return;
    watch->reported = percent;
    dprintf((int)watch->options->progress_fd, "%u\n", percent);
}

static bool on_tick(void *context, size_t finished, size_t hosts, uint64_t bytes)
{
    struct watch *watch = context;
    report(watch, finished, hosts);
    if (watch->is_terminal) {
        char size[QUANTITY_SIZE];
        watch->is_shown = true;
        fprintf(stderr, "\r\033[Kcapturing: %.1f s, %zu of %zu host%s done, %s",
                (double)(clock_monotonic_ms() - watch->start_ms) / 1e3, finished, hosts,
                hosts == 1 ? "" : "s", format_bytes(bytes, size));
    }
    if (!watch->is_ending && interrupt_is_pending(NULL)) {
        watch->is_ending = true;
        if (watch->is_shown)
            fprintf(stderr, "\n");
        log_info("ending the capture; press Ctrl-C again to give up");
    }
    return !watch->is_ending;
}

static void print_session(const struct remote_session *session)
{
    const struct remote_host *host;
    char size[QUANTITY_SIZE];
    array_each (host, &session->hosts) {
        if (host->path)
            log_info("%s: %s%s", host->address, format_bytes(host->size_bytes, size),
                     host->was_written_there ? ", written by the server itself" : "");
        else if (session->hosts.count > 1)
            log_error("%s: %s", host->address, host->problem.text);
    }
    size_t kept = session->hosts.count - session->failed;
    if (kept > 0)
        printf("%s\n", session->directory);
    if (session->failed > 0 && kept > 0)
        log_fatal("%zu of %zu hosts failed; the session has the other%s", session->failed,
                  session->hosts.count, kept == 1 ? "" : "s");
    else if (session->hosts.count > 1)
        log_fatal("nothing was captured: all %zu hosts failed", session->hosts.count);
    else if (session->failed > 0)
        log_fatal("nothing was captured: %s: %s", session->hosts.items[0].address,
                  session->hosts.items[0].problem.text);
}

static int wrong(const char *problem)
{
    fprintf(stderr, "%s: %s\n", title_of_command("capture"), problem);
    return EXIT_USAGE;
}

static int check(const struct connect_options *options, const struct remote_options *remote)
{
    struct error err;
    if (options->duration_ms == 0 || options->duration_ms > MAX_DURATION_MS)
        return wrong("--duration-ms must be from 1 to 604800000 (a week)");
    if (options->timeout_s > MAX_DURATION_MS / 1000)
        return wrong("--timeout must be at most 604800 (a week)");
    if (options->timeout_s > 0 && options->timeout_s * 1000 <= options->duration_ms)
        return wrong("--timeout must be longer than --duration-ms");
    if (options->retries > MAX_RETRIES)
        return wrong("--retries must be at most 100");
    if (options->progress_fd != ULONG_MAX &&
        (options->progress_fd > INT_MAX || fcntl((int)options->progress_fd, F_GETFD) < 0))
        return wrong("--progress-fd is not an open file descriptor");
    return remote_check(remote, &err) ? EXIT_DONE : wrong(err.text);
}

/* Profiles of hosts that answered are kept and printed even if others failed; the exit code tells.
 * The first Ctrl-C ends the capture, the second the program. */
int capture_connect(const struct connect_options *options)
{
    struct error err;
    struct remote_session session;
    struct watch watch = {
        .options = options, .start_ms = clock_monotonic_ms(), .is_terminal = isatty(STDERR_FILENO)};
    struct remote_options remote = {.addresses = options->addresses,
                                    .settings = options->settings.items,
                                    .setting_count = options->settings.count,
                                    .duration_ms = options->duration_ms,
                                    .timeout_ms = options->timeout_s * 1000,
                                    .retries = (unsigned)options->retries,
                                    .directory = options->directory,
                                    .tick = on_tick,
                                    .context = &watch};
    int result = check(options, &remote);
    if (result != EXIT_DONE)
        return result;
    signal(SIGPIPE, SIG_IGN); /* the reader of --progress-fd may exit */
    struct interrupt *interrupt = interrupt_start(NULL);
    bool ok = remote_capture(&remote, &session, &err);
    interrupt_stop(interrupt);
    if (watch.is_shown)
        fprintf(stderr, "\r\033[K");
    if (!ok) {
        print_error(&err);
        return EXIT_FAILED;
    }
    print_session(&session);
    result = session.failed > 0 ? EXIT_FAILED : EXIT_DONE;
    remote_session_free(&session);
    int printed = finish_printing();
    return result != EXIT_DONE ? result : printed;
}
