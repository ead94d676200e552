/*
 * The time-stamp counter: steady when the CPU says so and the system has not found otherwise.
 */
#include "capture/recorder/counter.h"

#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { INVARIANT_TSC = 1 << 8 }; /* CPUID 80000007h, EDX; Intel SDM volume 3, 18.17.1 */

/* Linux falls back to one of these when it finds that the counters of the CPUs run apart. */
static bool system_distrusts_it(void)
{
    static const char *const fallbacks[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
    char text[64] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    for (size_t i = 0; i < sizeof fallbacks / sizeof *fallbacks; i++)
        if (strcmp(text, fallbacks[i]) == 0)
            return true;
    return false;
}

bool counter_is_steady(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & INVARIANT_TSC) &&
           !system_distrusts_it();
}

enum ring_clock counter_kind(void)
{
    return RING_CLOCK_TSC;
}
