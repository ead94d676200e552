/*
 * CPU time and memory of the process over an interval.
 */
#include "capture/server/monitor.h"

#include "base/clock.h"
#include "kymo/kymo.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct usage usage_now(int64_t now_ms)
{
    return (struct usage){now_ms, clock_now_ns(CLOCK_PROCESS_CPUTIME_ID)};
}

/* A number of /proc/self/status, 0 when it is not there. */
static unsigned long read_status(const char *key)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *line = strstr(text, key);
    return line ? strtoul(line + strlen(key), NULL, 10) : 0;
}

size_t usage_describe(char *line, size_t size, const struct usage *before, const struct usage *now,
                      const struct monitor_request *request)
{
    char when[32] = "", more[96] = "";
    time_t seconds = time(NULL);
    struct tm date;
    double wall_ns = (double)(now->wall_ms - before->wall_ms) * 1e6;
    double cpu = wall_ns > 0 ? (double)(now->cpu_ns - before->cpu_ns) / wall_ns * 100 : 0;
    if (request->has_time && gmtime_r(&seconds, &date))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ ", &date);
    if (request->level > 1)
        snprintf(more, sizeof more, ", peak %.1f MB, %lu threads",
                 (double)read_status("VmHWM:") / 1e3 * 1.024, read_status("Threads:"));
    int length =
        snprintf(line, size, "%sprocess %d: CPU %.1f %% of one core, memory %.1f MB%s, %s\n", when,
                 (int)getpid(), cpu, (double)read_status("VmRSS:") / 1e3 * 1.024, more,
                 kymo_wants(1) ? "recording" : "not recording");
    return (size_t)length < size ? (size_t)length : size - 1;
}
