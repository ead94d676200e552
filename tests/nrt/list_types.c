/*
 * Prints every event type the runtime knows, one a line. Also built as C++.
 */
#include <nrt/nrt_sys_trace.h>

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    const char **names = NULL;
    size_t left = 0;
    if (nrt_sys_trace_get_event_types(&names, &left) != NRT_SUCCESS)
        return 1;
    for (const char **name = names; left > 0; left--, name++) {
        puts(*name);
        free((void *)*name);
    }
    free((void *)names);
    return 0;
}
