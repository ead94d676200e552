/*
 * nrt_status.h and nrt_version.h.
 */
#include "neuron/profile_file/ntff.h"

#include <nrt/nrt_status.h>
#include <nrt/nrt_version.h>
#include <stdio.h>
#include <string.h>

const char *nrt_get_status_as_str(NRT_STATUS status)
{
    return ntff_status_name((uint32_t)status);
}

NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size)
{
    nrt_version_t version = {.rt_major = 2, .rt_detail = "Kymo " KYMO_VERSION};
    if (!ver || size == 0)
        return NRT_INVALID;
    memset(ver, 0, size);
    memcpy(ver, &version, size < sizeof version ? size : sizeof version);
    return NRT_SUCCESS;
}
