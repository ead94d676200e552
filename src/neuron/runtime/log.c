/*
 * The runtime's messages, filtered by level and component, to standard error or syslog.
 */
#include "neuron/runtime/runtime.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static const char *const component_names[RT_COMPONENTS] = {"NRT", "TDRV", "KMGR"};
static _Atomic uint8_t levels[RT_COMPONENTS] = {RT_ERROR, RT_ERROR, RT_ERROR};
static atomic_bool to_syslog[RT_COMPONENTS];

static enum rt_level level_named(const char *name)
{
    static const struct {
        const char *name;
        enum rt_level level;
    } names[] = {{"QUIET", RT_QUIET}, {"CRITICAL", RT_ERROR},  {"FATAL", RT_ERROR},
                 {"ERROR", RT_ERROR}, {"WARNING", RT_WARNING}, {"WARN", RT_WARNING},
                 {"INFO", RT_INFO},   {"DEBUG", RT_DEBUG},     {"TRACE", RT_DEBUG}};
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i].name) == 0)
            return names[i].level;
    return RT_ERROR;
}

/* The variable of the component, of its older name, or of all. */
static const char *setting(const char *variable, enum rt_component component)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", variable, component_names[component]);
    const char *value = secure_getenv(name);
    if (!value && component == RT_KMGR) {
        snprintf(name, sizeof name, "%s_NMGR", variable);
        value = secure_getenv(name);
    }
    return value ? value : secure_getenv(variable);
}

void rt_log_configure(void)
{
    for (enum rt_component i = 0; i < RT_COMPONENTS; i++) {
        const char *location = setting("NEURON_RT_LOG_LOCATION", i);
        levels[i] = (uint8_t)level_named(setting("NEURON_RT_LOG_LEVEL", i));
        to_syslog[i] = location && strcasecmp(location, "syslog") == 0;
    }
}

/* Any thread. One write per line, so that lines of several threads and processes do not mix; the
 * layout is that of Neuron's runtime. */
void rt_log(enum rt_level level, enum rt_component component, const char *function,
            const char *format, ...)
{
    static const char *const level_names[] = {"", "ERROR", "WARN", "INFO", "DEBUG"};
    static const int priorities[] = {LOG_DEBUG, LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
    if (level > levels[component])
        return;
    char text[768], line[1024], when[32];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (to_syslog[component]) {
        syslog(priorities[level], "%s:%s %s", component_names[component], function, text);
        return;
    }
    struct timespec now = clock_timespec(clock_wall_ns());
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    strftime(when, sizeof when, "%Y-%b-%d %H:%M:%S", &utc);
    int length = snprintf(line, sizeof line, "%s.%06ld %d:%ld %5s %4s:%-32s %s\n", when,
                          now.tv_nsec / 1000, (int)getpid(), (long)syscall(SYS_gettid),
                          level_names[level], component_names[component], function, text);
    size_t size = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
    ssize_t ignored = write(STDERR_FILENO, line, size);
    (void)ignored;
}
