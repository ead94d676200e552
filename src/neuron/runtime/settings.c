/*
 * Environment variables of the runtime.
 */
#include "neuron/runtime/runtime.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

static bool is_on(const char *name)
{
    const char *value = variable(name);
    return value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0;
}

/* A number up to a maximum; unchanged when the variable is not set. */
static bool read_number(const char *name, uint64_t max, uint64_t *number)
{
    const char *text = variable(name);
    if (!text)
        return true;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || value > max) {
        rt_error(RT_NRT, "%s=%s is not a number from 0 to %llu", name, text,
                 (unsigned long long)max);
        return false;
    }
    *number = value;
    return true;
}

static bool read_instance(struct runtime_settings *to)
{
    static const char name[] = "KYMO_NEURON_INSTANCE";
    const char *value = variable(name);
    to->instance = hardware_instance(value ? value : "trn1.32xlarge");
    if (!to->instance)
        rt_error(RT_NRT, "%s=%s is not an instance type, such as trn1.32xlarge or trn2.48xlarge",
                 name, value);
    return to->instance;
}

static bool read_logical_size(struct runtime_settings *to)
{
    static const char *const names[] = {"NEURON_RT_VIRTUAL_CORE_SIZE", "NEURON_LOGICAL_NC_CONFIG"};
    uint64_t size = to->instance->logical_cores;
    for (size_t i = 0; i < 2; i++) {
        if (!read_number(names[i], LOGICAL_MAX, &size))
            return false;
        if (size == 0 || to->instance->core->cores_per_chip % size != 0) {
            rt_error(RT_NRT, "%s: a logical core has 1 or 2 physical ones", names[i]);
            return false;
        }
    }
    to->logical_size = (uint32_t)size;
    to->total = to->instance->chips * to->instance->core->cores_per_chip / to->logical_size;
    return true;
}

static bool read_cores(struct runtime_settings *to)
{
    static const char visible[] = "NEURON_RT_VISIBLE_CORES";
    const char *text = variable(visible);
    uint64_t count = 0;
    if (text) {
        if (cores_parse(text, to->total, &to->row))
            return true;
        rt_error(RT_NRT, "%s=%s is not a range of cores from 0 to %u", visible, text,
                 to->total - 1);
        return false;
    }
    if (!read_number("NEURON_RT_NUM_CORES", to->total, &count))
        return false;
    to->any = count > 0;
    to->row.count = count > 0 ? (uint32_t)count : to->total;
    return true;
}

/* The cores of all processes of a job, including this one's. */
static bool read_job_cores(struct runtime_settings *to)
{
    static const char name[] = "KYMO_NEURON_JOB_CORES";
    const char *text = variable(name);
    if (!text)
        return true;
    const struct cores_row *job = &to->job, *row = &to->row;
    if (cores_parse(text, to->total, &to->job) && !to->any && row->first >= job->first &&
        row->first + row->count <= job->first + job->count)
        return true;
    rt_error(RT_NRT, "%s=%s is not a range of cores that includes those of NEURON_RT_VISIBLE_CORES",
             name, text);
    return false;
}

/* A copy, as the program may change its environment. */
static bool read_text(const char *name, char *to, size_t size)
{
    const char *text = variable(name);
    if (text && strlen(text) >= size) {
        rt_error(RT_NRT, "%s is longer than %zu characters", name, size - 1);
        return false;
    }
    memcpy(to, text ? text : "", text ? strlen(text) + 1 : 1);
    return true;
}

static bool read_ranks(struct runtime_settings *to)
{
    static const char node[] = "KYMO_NEURON_NODE", allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                               "0123456789-_";
    if (!read_text("NEURON_RT_ROOT_COMM_ID", to->root, sizeof to->root) ||
        !read_text("KYMO_NEURON_JOB_KEY", to->job_key, sizeof to->job_key) ||
        !read_text(node, to->node, sizeof to->node))
        return false;
    if (to->node[strspn(to->node, allowed)]) {
        rt_error(RT_NRT, "%s=%s: a node's name has letters, digits, - and _", node, to->node);
        return false;
    }
    return true;
}

bool settings_read(struct runtime_settings *to)
{
    enum { DEFAULT_TIMEOUT_S = 600 };
    *to = (struct runtime_settings){.timeout_s = DEFAULT_TIMEOUT_S};
    const char *verbosity = variable("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY");
    const char *compute = variable("KYMO_NEURON_COMPUTE");
    to->compute = !compute || strcmp(compute, "0") != 0;
    to->check_numbers = is_on("NEURON_FAIL_ON_NAN") || is_on("NEURON_RT_FAIL_ON_NAN") ||
                        (verbosity && strcasecmp(verbosity, "critical") == 0);
    to->dge_notifications = is_on("NEURON_RT_ENABLE_DGE_NOTIFICATIONS");
    to->validate_hash = is_on("NEURON_RT_VALIDATE_HASH");
    return read_instance(to) && read_logical_size(to) && read_cores(to) && read_job_cores(to) &&
           read_ranks(to) && read_number("NEURON_RT_EXEC_TIMEOUT", UINT32_MAX, &to->timeout_s);
}
