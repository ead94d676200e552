/*
 * A client of the system trace that keeps two cores: every core off, the wanted ones on, then a
 * trace from start to stop. Also built as C++. Its exit code is the number of calls that failed.
 */
#include <nrt/nrt_sys_trace.h>

enum { CORES = 128 };

static int failures;

static void expect(NRT_STATUS status)
{
    failures += status != NRT_SUCCESS;
}

static void keep_only(nrt_sys_trace_config_t *trace, const int *wanted, int count)
{
    for (int core = 0; core < CORES; core++)
        nrt_sys_trace_config_set_capture_enabled_for_nc(trace, core, false);
    for (int i = 0; i < count; i++)
        nrt_sys_trace_config_set_capture_enabled_for_nc(trace, wanted[i], true);
}

int main(void)
{
    static const int wanted[] = {0, 2};
    nrt_sys_trace_config_t *trace;
    expect(nrt_sys_trace_config_allocate(&trace));
    nrt_sys_trace_config_set_defaults(trace);
    keep_only(trace, wanted, 2);
    expect(nrt_sys_trace_start(trace));
    expect(nrt_sys_trace_stop());
    nrt_sys_trace_config_free(trace);
    return failures;
}
