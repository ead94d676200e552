/*
 * kymo neff: builds, lists, unpacks and describes executables of NeuronCores.
 */
#include "cli/cli.h"
#include "cli/neff_options.h"

#include <stdio.h>

static int run(int count, char **arguments);

const struct command command_neff = {
    .name = "neff",
    .summary = "Build, list, unpack or describe an executable of NeuronCores (NEFF).",
    .about =
        "build compiles a model for one generation of cores: a graph in JSON, or an HLO module as "
        "XLA serializes it. The program is checked before it is written: it has no races, reads "
        "nothing that was not written, and ends. By default the NEFF is written beside the "
        "model.\n\n"
        "list prints the members of the archive in a NEFF with their sizes. unpack writes them "
        "to a directory, by default the file's name without .neff; existing files "
        "are kept unless --force is given. info prints the header, the programs with the "
        "instructions of each engine, the tensors and the DMA queues.\n\n"
        "NEFFs of other compilers can be listed, unpacked and described; Kymo's cores run "
        "those whose programs are in its own encoding.",
    .usage = "build|list|unpack|info [options] FILE",
    .examples =
        (const char *const[]){
            "build examples/mlp.json -o mlp.neff",
            "build --core trn1.32xlarge model.hlo.pb",
            "list model.neff",
            "unpack model.neff -o model",
            "info --json model.neff",
            NULL,
        },
    .run = run,
};

static int list(const struct neff_options *options)
{
    struct error err;
    struct output out;
    struct neff *neff = neff_open(options->file, &err);
    if (!neff || !output_open(&out, NULL, &err)) {
        neff_close(neff);
        print_error(&err);
        return EXIT_FAILED;
    }
    const struct neff_info *info = neff_info(neff);
    for (size_t i = 0; i < info->member_count; i++) {
        output_format(&out, "%12zu  ", info->members[i].size);
        export_printable(info->members[i].name, &out);
        output_char(&out, '\n');
    }
    bool ok = output_commit(&out, &err);
    neff_close(neff);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

static int describe(const struct neff_options *options)
{
    return print_neff(options->file, options->json);
}

int print_neff(const char *path, bool json)
{
    struct error err;
    struct output out;
    struct neff *neff = neff_open(path, &err);
    bool ok = neff && output_open(&out, NULL, &err);
    if (ok) {
        struct text_style style = style_for(false, 0);
        ok = json ? export_neff_json(neff, &out, &err) : export_neff_text(neff, &style, &out, &err);
        if (ok)
            ok = output_commit(&out, &err);
        else
            output_discard(&out);
    }
    neff_close(neff);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

int print_ntff(const char *path, bool json)
{
    struct error err;
    struct output out;
    struct ntff *ntff = ntff_open(path, &err);
    bool ok = ntff && output_open(&out, NULL, &err);
    if (ok) {
        struct text_style style = style_for(false, 0);
        if (json)
            export_ntff_json(ntff, &out);
        else
            export_ntff_text(ntff, &style, &out);
        ok = output_commit(&out, &err);
    }
    ntff_close(ntff);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/* The first word after the command, and the options it takes besides the common ones. */
static const struct action {
    const char *name;
    int (*run)(const struct neff_options *options);
    bool takes_json, takes_output, takes_force, takes_core;
} actions[] = {
    {"build", neff_build, false, true, true, true},
    {"list", list, false, false, false, false},
    {"unpack", neff_unpack, false, true, true, false},
    {"info", describe, true, false, false, false},
};
enum { ACTION_COUNT = sizeof actions / sizeof *actions };

static const struct action *action_named(const char *word)
{
    const char *names[ACTION_COUNT];
    for (size_t i = 0; i < ACTION_COUNT; i++)
        names[i] = actions[i].name;
    size_t found = find_action(&command_neff, word, names, ACTION_COUNT);
    return found < ACTION_COUNT ? &actions[found] : NULL;
}

static int refuse_option(const struct action *action, const char *option)
{
    fprintf(stderr, "%s neff %s: takes no --%s\n", program_name(), action->name, option);
    return EXIT_USAGE;
}

/* One table of options for all actions; those that an action does not take are refused rather than
 * ignored. */
static int run(int count, char **arguments)
{
    struct neff_options options = {0};
    const struct option table[] = {
        {"output", 'o', OPTION_TEXT, &options.output, "FILE",
         "build: the NEFF; unpack: directory to write to", NULL},
        {"core", 0, OPTION_TEXT, &options.core, "CORE",
         "build: v2, v3, v4 or an instance type (default: KYMO_NEURON_INSTANCE, or v2)", NULL},
        {"logical-nc-config", 0, OPTION_NUMBER, &options.logical_cores, "N",
         "build: physical cores per logical core, 1 or 2, among which the model is split (default: "
         "1)",
         NULL},
        {"force", 0, OPTION_FLAG, &options.force, NULL, "build, unpack: overwrite files", NULL},
        {"json", 0, OPTION_FLAG, &options.json, NULL, "info: write JSON", NULL},
        LOG_LEVEL_OPTION,
    };
    const char *words[2];
    size_t word_count;
    int result = options_read(&command_neff, table, sizeof table / sizeof *table, count, arguments,
                              words, 2, &word_count);
    if (result != EXIT_DONE)
        return result;
    if (word_count < 2) {
        fprintf(stderr, "%s neff: the usage is %s neff %s\n", program_name(), program_name(),
                command_neff.usage);
        return EXIT_USAGE;
    }
    const struct action *action = action_named(words[0]);
    if (!action)
        return EXIT_USAGE;
    if (options.json && !action->takes_json)
        return refuse_option(action, "json");
    if (options.output && !action->takes_output)
        return refuse_option(action, "output");
    if (options.force && !action->takes_force)
        return refuse_option(action, "force");
    if (options.core && !action->takes_core)
        return refuse_option(action, "core");
    if (options.logical_cores > 0 && !action->takes_core)
        return refuse_option(action, "logical-nc-config");
    options.file = words[1];
    return action->run(&options);
}
