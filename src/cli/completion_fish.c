/*
 * Completion for fish: one `complete` per command and option.
 */
#include "cli/cli.h"

static const char *const actions[] = {
    [WORD_FREE] = "-x",
    [WORD_CHOICE] = NULL, /* the choices */
    [WORD_FILE] = "-r -F",
    [WORD_DIRECTORY] = "-x -a '(__fish_complete_directories)'",
    [WORD_PROFILE] = "-x -a '(__kymo_profiles)'",
    [WORD_COMMAND] = "-F -a '(__fish_complete_command)'",
};

static const char functions[] =
    "# Completion of kymo for fish, made by `kymo --generate fish`.\n"
    "\n"
    "function __kymo_is -d 'whether the command is the one that is named'\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
    "end\n"
    "\n"
    "function __kymo_is_first -d 'whether this is the first word after the command'\n"
    "    test (count (commandline -opc)) -eq 2\n"
    "end\n"
    "\n"
    "function __kymo_profiles -d 'names of the profiles in the workspace'\n"
    "    set -l words (commandline -opc)\n"
    "    set -l at (contains -i -- --data-path $words)\n"
    "    and set -l data $words[(math $at + 1)]\n"
    "    command $words[1] --generate profiles $data 2>/dev/null\n"
    "end\n"
    "\n"
    "for name in kymo";

/* In single quotes. */
static void put_quoted(struct output *out, const char *text)
{
    output_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            output_char(out, '\\');
        output_char(out, *text);
    }
    output_char(out, '\'');
}

static void put_option(struct output *out, const struct option *option)
{
    if (option->letter)
        output_format(out, " -s %c", option->letter);
    output_format(out, " -l %s", option->name);
    if (option->choices) {
        const char *start = option->kind == OPTION_MAYBE ? " -f -a '" : " -x -a '";
        for (const char *const *choice = option->choices; *choice; choice++)
            output_format(out, "%s%s", choice == option->choices ? start : " ", *choice);
        output_char(out, '\'');
    } else if (option->argument) {
        output_format(out, " %s", actions[value_of(option)]);
    }
    output_text(out, " -d ");
    put_quoted(out, option->help);
    output_char(out, '\n');
}

static void put_command(const struct command *command, const struct option *options, size_t count,
                        void *context)
{
    static const struct option help = {
        "help", 'h', OPTION_FLAG, NULL, NULL, "show the options and examples", NULL};
    struct output *out = context;
    output_format(out, "    complete -c $name -n __fish_use_subcommand -a %s -d ", command->name);
    put_quoted(out, command->summary);
    output_char(out, '\n');
    for (size_t i = 0; i <= count; i++) {
        output_format(out, "    complete -c $name -n '__kymo_is %s'", command->name);
        put_option(out, i < count ? &options[i] : &help);
    }
    if (has_first_words(command)) {
        output_format(out, "    complete -c $name -n '__kymo_is %s; and __kymo_is_first' -f -a '",
                      command->name);
        put_first_words(command, out);
        output_text(out, "'\n");
    }
    enum word_kind operand = operand_of(command);
    output_format(out, "    complete -c $name -n '__kymo_is %s' %s\n", command->name,
                  operand == WORD_FILE ? "-F" : actions[operand]);
}

void completion_fish(const struct tool *tool, struct output *out)
{
    output_text(out, functions);
    for (const char *const *name = compat_names; *name; name++)
        output_format(out, " %s", *name);
    output_text(out, "\n    complete -c $name -f\n");
    for (size_t i = 0; i < tool->option_count; i++) {
        output_text(out, "    complete -c $name -n __fish_use_subcommand");
        put_option(out, &tool->options[i]);
    }
    for (size_t i = 0; i < tool->command_count; i++)
        options_visit(tool->commands[i], put_command, out);
    output_text(out, "end\n");
    for (const char *const *name = compat_commands; *name; name++)
        output_format(out, "complete -c %s -w 'kymo %s'\n", *name, *name);
}
