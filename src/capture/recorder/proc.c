/*
 * /proc/stat and /proc/meminfo (proc(5)).
 */
#include "capture/recorder/proc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 256 << 10, IDLE = 3, IOWAIT = 4, FIELDS = 8 };

/* The first LONGEST bytes of a file, terminated; NULL when it cannot be read. */
static char *read_text(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd < 0 ? NULL : malloc(LONGEST);
    size_t size = 0;
    while (text && size < LONGEST - 1) {
        ssize_t got = read(fd, text + size, LONGEST - 1 - size);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    if (text)
        text[size] = '\0';
    return text;
}

/* user nice system idle iowait irq softirq steal; what follows is in user and nice already. */
static void parse_times(struct proc_cpu *cpu, const char *text)
{
    uint64_t idle = 0, total = 0;
    for (int field = 0; field < FIELDS; field++) {
        char *end;
        uint64_t value = strtoull(text, &end, 10);
        if (end == text)
            break;
        total += value;
        idle += field == IDLE || field == IOWAIT ? value : 0;
        text = end;
    }
    cpu->total = total;
    cpu->busy = total - idle;
}

bool proc_parse_cpus(struct proc_cpus *cpus, const char *text)
{
    bool found = false;
    cpus->count = 0;
    for (const char *line = text; line && strncmp(line, "cpu", 3) == 0;) {
        if (line[3] == ' ') {
            parse_times(&cpus->all, line + 3);
            found = true;
        } else if (cpus->count < PROC_MOST_CPUS) {
            struct proc_cpu *cpu = &cpus->cpu[cpus->count++];
            char *end;
            cpu->id = (uint32_t)strtoul(line + 3, &end, 10);
            parse_times(cpu, end);
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return found;
}

static bool find_kib(const char *text, const char *key, uint64_t *bytes)
{
    const char *found = strstr(text, key);
    if (!found)
        return false;
    *bytes = strtoull(found + strlen(key), NULL, 10) * 1024;
    return true;
}

bool proc_parse_memory(struct proc_memory *memory, const char *text)
{
    return find_kib(text, "MemTotal:", &memory->total_bytes) &&
           find_kib(text, "MemAvailable:", &memory->available_bytes);
}

bool proc_read_cpus(struct proc_cpus *cpus)
{
    char *text = read_text("/proc/stat");
    bool ok = text && proc_parse_cpus(cpus, text);
    free(text);
    return ok;
}

bool proc_read_memory(struct proc_memory *memory)
{
    char *text = read_text("/proc/meminfo");
    bool ok = text && proc_parse_memory(memory, text);
    free(text);
    return ok;
}
