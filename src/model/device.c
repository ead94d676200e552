/*
 * The model of a device. Tracers of ROCm and older ones of TensorFlow do not name a model; the
 * compute capability then gives at least the architecture.
 */
#include "model/device.h"

#include <stdio.h>

/* The architecture of the highest capability that is not above the device's. */
static const char *nvidia_architecture(int64_t major, int64_t minor)
{
    static const struct {
        int major, minor;
        const char *name;
    } known[] = {{10, 0, "Blackwell"}, {9, 0, "Hopper"}, {8, 9, "Ada"},    {8, 0, "Ampere"},
                 {7, 5, "Turing"},     {7, 0, "Volta"},  {6, 0, "Pascal"}, {5, 0, "Maxwell"},
                 {3, 0, "Kepler"},     {2, 0, "Fermi"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (major > known[i].major || (major == known[i].major && minor >= known[i].minor))
            return known[i].name;
    return NULL;
}

/* ROCm's compute capability is the first two numbers of the ISA's name. */
static const char *amd_architecture(int64_t major, int64_t minor)
{
    if (major == 9 && minor == 4)
        return "gfx942";
    if (major == 9 && minor == 5)
        return "gfx950";
    return NULL;
}

bool device_is_of_amd(const struct catalog *catalog, uint32_t source)
{
    const struct arg_list *args = &catalog->tracks.items[source].args;
    const struct arg *vendor = catalog_arg(catalog, args, TEXT("device_vendor"));
    const struct arg *name = catalog_arg(catalog, args, TEXT("gpu_device_name"));
    return (vendor && text_equal(arg_text(catalog, vendor), TEXT("AMD"))) ||
           (name && text_starts(arg_text(catalog, name), TEXT("AMD")));
}

struct text device_model(const struct catalog *catalog, uint32_t source,
                         char made[static MAX_MODEL_NAME])
{
    const struct arg_list *args = &catalog->tracks.items[source].args;
    const struct arg *name = catalog_arg(catalog, args, TEXT("gpu_device_name"));
    if (!name)
        name = catalog_arg(catalog, args, TEXT("device_type_string"));
    if (name)
        return arg_text(catalog, name);
    const struct arg *major = catalog_arg(catalog, args, TEXT("compute_cap_major"));
    const struct arg *minor = catalog_arg(catalog, args, TEXT("compute_cap_minor"));
    if (!major || !minor)
        return TEXT("");
    bool is_amd = device_is_of_amd(catalog, source);
    int64_t numbers[2] = {arg_integer(major), arg_integer(minor)};
    const char *architecture = is_amd ? amd_architecture(numbers[0], numbers[1])
                                      : nvidia_architecture(numbers[0], numbers[1]);
    int size = architecture ? snprintf(made, MAX_MODEL_NAME, "%s GPU (%s)",
                                       is_amd ? "AMD" : "NVIDIA", architecture)
                            : snprintf(made, MAX_MODEL_NAME, "compute capability %lld.%lld",
                                       (long long)numbers[0], (long long)numbers[1]);
    return (struct text){made, (size_t)size};
}

struct text device_type(const struct catalog *catalog, uint32_t source,
                        char made[static MAX_MODEL_NAME])
{
    const struct arg_list *args = &catalog->tracks.items[source].args;
    const struct arg *type = catalog_arg(catalog, args, TEXT("device_type_string"));
    const struct arg *major = catalog_arg(catalog, args, TEXT("compute_cap_major"));
    const struct arg *minor = catalog_arg(catalog, args, TEXT("compute_cap_minor"));
    if (type)
        return arg_text(catalog, type);
    if (!major || !minor)
        return TEXT("");
    bool is_amd = device_is_of_amd(catalog, source);
    int64_t numbers[2] = {arg_integer(major), arg_integer(minor)};
    const char *architecture = is_amd ? amd_architecture(numbers[0], numbers[1])
                                      : nvidia_architecture(numbers[0], numbers[1]);
    if (!architecture)
        return TEXT("");
    int size =
        snprintf(made, MAX_MODEL_NAME, is_amd ? "AMD GPU - %s" : "Nvidia GPU (%s)", architecture);
    return (struct text){made, (size_t)size};
}
