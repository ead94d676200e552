/*
 * Starts the server, prints its URL, and runs it until a stop signal.
 */
#include "serve/serve.h"

#include "serve/api/handlers.h"
#include "serve/http/access.h"
#include "serve/http/assets.h"
#include "serve/http/http.h"
#include "serve/http/listen.h"
#include "serve/jobs/jobs.h"
#include "serve/runs/profile_list.h"
#include "serve/runs/rank_links.h"
#include "serve/runs/user_queries.h"
#include "store/tables/store.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* A port and its HTTP server. */
struct listener {
    int socket;
    uint16_t port;
    struct http *http;
};

static void put_encoded(struct output *out, const char *text)
{
    for (; *text; text++)
        if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
            (*text >= '0' && *text <= '9') || strchr("-._~", *text))
            output_char(out, *text);
        else
            output_format(out, "%%%02X", (unsigned char)*text);
}

/* The URL to print, with localhost for loopback and wildcard addresses. */
static void put_url(struct output *out, const struct serve_options *options, uint16_t port)
{
    const char *host = options->host;
    bool is_plain = !host || strcmp(host, "127.0.0.1") == 0 || strcmp(host, "0.0.0.0") == 0 ||
                    strcmp(host, "::") == 0 || strcmp(host, "::1") == 0;
    output_format(out, strchr(is_plain ? "" : host, ':') ? "http://[%s]:%u/" : "http://%s:%u/",
                  is_plain ? "localhost" : host, port);
}

/* What XProf's server prints before its URL; there are no workers to name. */
static void put_xprof_start(struct output *line, const struct server *server, uint16_t port)
{
    output_format(line,
                  "Attempting to start XProf server:\n  Log Directory: %s\n  Port: %u\n  Worker "
                  "Service Address: none (this program processes runs itself)\n  Hide Capture "
                  "Button: %s\n",
                  server->options->log_directory, port,
                  captures_are_allowed(server) ? "False" : "True");
}

/* Printed only once the sockets listen, as scripts wait for this line and then connect. A token
 * goes behind '&' where the URL already has a query. */
static void print_url(const struct server *server, const struct listener *listeners,
                      const char *token)
{
    const struct serve_options *options = server->options;
    struct output line;
    output_memory(&line);
    if (options->is_xprof) {
        put_xprof_start(&line, server, listeners[0].port);
        output_text(&line, "XProf at ");
        put_url(&line, options, listeners[0].port);
    } else if (options->profile && options->has_ui) {
        output_text(&line, "View profile at ");
        put_url(&line, options, listeners[0].port);
        output_text(&line, options->is_collective ? "profile_cc/" : "profile/");
        put_encoded(&line, options->profile);
    } else if (options->has_ui && options->is_dataset) {
        output_text(&line, "View the runs at ");
        put_url(&line, options, listeners[0].port);
        output_text(&line, "?run=");
    } else if (options->has_ui) {
        output_text(&line, "View a list of profiles at ");
        put_url(&line, options, listeners[0].port);
    } else {
        output_text(&line, "The API is at ");
        put_url(&line, options, listeners[1].port);
        output_text(&line, "api/v1/");
    }
    if (token) {
        output_text(&line, options->is_dataset && options->has_ui ? "&token=" : "?token=");
        put_encoded(&line, token);
    }
    output_text(&line, options->is_xprof ? " (Press CTRL+C to quit)" : "\nctrl-c to exit");
    output_char(&line, '\0');
    printf("%s\n", line.data);
    fflush(stdout);
    output_discard(&line);
}

/* Each connection needs a file descriptor. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < MAX_OPEN_FILES ? limit.rlim_max : MAX_OPEN_FILES;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool open_listeners(const struct serve_options *options, const char *host,
                           struct listener listeners[2], struct error *err)
{
    if (options->has_ui &&
        !listen_on(host, options->ui, "port", &listeners[0].port, &listeners[0].socket, err))
        return false;
    return listen_on(host, options->api, "api-server-port", &listeners[1].port,
                     &listeners[1].socket, err);
}

static bool start_listeners(struct server *server, struct listener listeners[2], struct error *err)
{
    for (size_t i = 0; i < 2; i++) {
        if (listeners[i].socket < 0)
            continue;
        if (!http_start(&listeners[i].http, server, listeners[i].socket, i == 0, err))
            return false;
        listeners[i].socket = -1; /* owned by http */
    }
    return true;
}

/* eventfd: any thread may receive the signal, the main thread polls this. */
static int stop_event = -1;

static void on_stop_signal(int number)
{
    (void)number;
    uint64_t one = 1;
    ssize_t ignored = write(stop_event, &one, sizeof one);
    (void)ignored;
}

/* Blocks the stop signals for threads created from here on. Signals ignored by the parent, as with
 * nohup, stay ignored. */
static bool catch_signals(sigset_t *signals, struct error *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_stop_signal, .sa_flags = SA_RESTART}, before;
    stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_event < 0)
        return error_set(err, "cannot start the server: %s", strerror(errno));
    sigemptyset(signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaddset(signals, numbers[i]);
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    pthread_sigmask(SIG_BLOCK, signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    return true;
}

static void wait_for_stop(struct server *server, const struct listener listeners[2],
                          const sigset_t *signals)
{
    struct pollfd stop = {.fd = stop_event, .events = POLLIN};
    pthread_sigmask(SIG_UNBLOCK, signals, NULL);
    for (unsigned i = 0; poll(&stop, 1, SERVER_TICK_MS) <= 0; i++) {
        open_profiles_tick(server->open_profiles);
        queries_tick(server->queries);
        for (size_t k = 0; k < 2 && i % CLIENTS_TICKS == 0; k++)
            if (listeners[k].http)
                http_tick(listeners[k].http);
    }
}

/* Interrupts running queries while the listeners stop. */
static void *interrupt_requests(void *context)
{
    struct server *server = context;
    struct timespec tick = {.tv_nsec = SERVER_TICK_MS * 1000000L / 5};
    while (atomic_load(&server->is_stopping)) {
        open_profiles_tick(server->open_profiles);
        nanosleep(&tick, NULL);
    }
    return NULL;
}

static void stop_listeners(struct server *server, struct listener listeners[2])
{
    pthread_t thread;
    atomic_store(&server->is_stopping, true);
    open_profiles_stop(server->open_profiles);
    bool has_thread = pthread_create(&thread, NULL, interrupt_requests, server) == 0;
    for (size_t i = 0; i < 2; i++) {
        http_stop(listeners[i].http);
        if (listeners[i].socket >= 0)
            close(listeners[i].socket);
    }
    atomic_store(&server->is_stopping, false);
    if (has_thread)
        pthread_join(thread, NULL);
}

/* Order matters on the way down: running analyses are told to end before the listeners stop, and
 * what handlers use is destroyed only once no handler runs. */
static bool run(struct server *server, struct listener listeners[2], const char *token,
                struct error *err)
{
    sigset_t signals;
    if (!catch_signals(&signals, err))
        return false;
    server->pool = pool_create(0);
    pthread_mutex_init(&server->pool_lock, NULL);
    server->open_profiles = open_profiles_create(server);
    server->queries = queries_create(pool_workers(server->pool));
    server->fleet_runs = fleet_runs_create(server);
    server->rank_links = rank_links_create(server);
    bool ok = jobs_start(&server->jobs, server, err) && start_listeners(server, listeners, err);
    if (ok) {
        print_url(server, listeners, token);
        wait_for_stop(server, listeners, &signals);
    }
    fleet_runs_stop(server->fleet_runs);
    stop_listeners(server, listeners);
    fleet_runs_destroy(server->fleet_runs);
    jobs_stop(server->jobs);
    open_profiles_destroy(server->open_profiles);
    rank_links_destroy(server->rank_links);
    queries_destroy(server->queries);
    pool_destroy(server->pool);
    pthread_mutex_destroy(&server->pool_lock);
    profiles_cache_free();
    close(stop_event);
    return ok;
}

/* The main thread; returns after a stop signal or when starting fails. Ports are opened before
 * anything else starts, so that a port in use is reported at once. */
bool serve_run(const struct serve_options *options, struct error *err)
{
    struct server server = {.options = options, .router = &router};
    struct listener listeners[2] = {{.socket = -1}, {.socket = -1}};
    const char *host = options->host ? options->host : "127.0.0.1", *token = options->token;
    char made[TOKEN_SIZE];
    bool is_open = !is_loopback(host);
    if (options->allows_frames)
        assets_allow_in_frames();
    if (token && is_open && strlen(token) < MIN_TOKEN)
        return error_set(err,
                         "the token is too short: non-loopback addresses need at least %d "
                         "characters; without --token a random one is used",
                         MIN_TOKEN);
    if (!token && is_open) {
        if (!token_make(made, err))
            return false;
        token = made;
    }
    if (!workspace_open(options->data_path, &server.data_path, err))
        return false;
    char *real = realpath(server.data_path, NULL); /* absolute: child processes get this path */
    if (real) {
        mem_free(server.data_path);
        server.data_path = mem_copy_text(real, strlen(real));
        free(real);
    }
    allow_many_files();
    bool ok = open_listeners(options, host, listeners, err);
    if (ok) {
        const uint16_t ports[2] = {listeners[1].port, listeners[0].port};
        server.access = access_create(host, token, ports, options->has_ui ? 2 : 1);
        ok = run(&server, listeners, token, err);
    } else {
        for (size_t i = 0; i < 2; i++)
            if (listeners[i].socket >= 0)
                close(listeners[i].socket);
    }
    access_destroy(server.access);
    mem_free(server.data_path);
    return ok;
}
