/*
 * Completion for zsh: _arguments specifications, one set per command.
 */
#include "cli/cli.h"

static const char *const actions[] = {
    [WORD_FREE] = " ",
    [WORD_CHOICE] = NULL, /* the choices */
    [WORD_FILE] = "_files",
    [WORD_DIRECTORY] = "_directories",
    [WORD_PROFILE] = "_kymo_profiles",
    [WORD_COMMAND] = "_command_names -e",
};

static const char profiles[] =
    "\n# Made by `kymo --generate zsh`.\n"
    "\n"
    "_kymo_profiles()\n"
    "{\n"
    "    local -a names\n"
    "    names=(${(f)\"$(_call_program profiles $service --generate profiles "
    "${opt_args[--data-path]})\"})\n"
    "    compadd -a names\n"
    "}\n"
    "\n"
    "_kymo()\n"
    "{\n"
    "    local context state state_descr line\n"
    "    local -A opt_args\n"
    "    local -a commands\n"
    "    if [[ $service == (nccom-test|xprof) ]]; then\n"
    "        words=(kymo $service \"${(@)words[2,-1]}\")\n"
    "        (( ++CURRENT ))\n"
    "    fi\n"
    "    commands=(\n";

/* Escapes a description for _arguments or _describe, inside single quotes. */
static void put_description(struct output *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') {
            output_text(out, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *text))
            output_char(out, '\\');
        output_char(out, *text);
    }
}

static void put_action(struct output *out, const struct option *option)
{
    output_format(out, "%s%s:", option->kind == OPTION_MAYBE ? "::" : ":", option->argument);
    if (!option->choices) {
        output_text(out, actions[value_of(option)]);
        return;
    }
    for (const char *const *choice = option->choices; *choice; choice++)
        output_format(out, "%s%s", choice == option->choices ? "(" : " ", *choice);
    output_char(out, ')');
}

static void put_option(struct output *out, const struct option *option)
{
    const char *equals = option->kind == OPTION_FLAG ? "" : "=";
    const char *plus = option->kind == OPTION_FLAG ? "" : "+";
    output_text(out, "            ");
    if (option->kind == OPTION_LIST)
        output_format(out, "'*--%s%s", option->name, equals);
    else if (option->letter)
        output_format(out, "'(-%c --%s)'{-%c%s,--%s%s}'", option->letter, option->name,
                      option->letter, plus, option->name, equals);
    else
        output_format(out, "'--%s%s", option->name, equals);
    output_char(out, '[');
    put_description(out, option->help);
    output_char(out, ']');
    if (option->argument)
        put_action(out, option);
    output_text(out, "' \\\n");
}

static void put_command(const struct command *command, const struct option *options, size_t count,
                        void *context)
{
    struct output *out = context;
    output_format(out, "        %s)\n            _arguments -S \\\n", command->name);
    for (size_t i = 0; i < count; i++)
        put_option(out, &options[i]);
    output_text(out, "            '(-h --help)'{-h,--help}'[show the options and examples]' \\\n");
    enum word_kind operand = operand_of(command);
    if (has_first_words(command)) {
        output_text(out, "            '1:action:(");
        put_first_words(command, out);
        output_text(out, ")' \\\n");
    }
    if (operand == WORD_COMMAND)
        output_text(out, "            '(-)1:command:_command_names -e' \\\n"
                         "            '*::arguments:_normal'");
    else if (operand == WORD_PROFILE)
        output_format(out, "            '1:profile:%s'", actions[operand]);
    else
        output_format(out, "            '*:%s:%s'",
                      operand == WORD_DIRECTORY ? "directory" : "file", actions[operand]);
    output_text(out, " ;;\n");
}

/* Descriptions come from the same tables as the help, so that they cannot disagree. */
void completion_zsh(const struct tool *tool, struct output *out)
{
    output_text(out, "#compdef kymo");
    for (const char *const *name = compat_names; *name; name++)
        output_format(out, " %s", *name);
    for (const char *const *name = compat_commands; *name; name++)
        output_format(out, " %s", *name);
    output_text(out, profiles);
    for (size_t i = 0; i < tool->command_count; i++) {
        output_format(out, "        '%s:", tool->commands[i]->name);
        put_description(out, tool->commands[i]->summary);
        output_text(out, "'\n");
    }
    output_text(out, "    )\n    _arguments -C \\\n");
    for (size_t i = 0; i < tool->option_count; i++) {
        output_format(out, "        '(- *)--%s[", tool->options[i].name);
        put_description(out, tool->options[i].help);
        output_text(out, "]' \\\n");
    }
    output_text(out, "        '1:command:->command' '*::argument:->argument'\n"
                     "    case $state in\n"
                     "    command) _describe command commands ;;\n"
                     "    argument)\n"
                     "        case $line[1] in\n");
    for (size_t i = 0; i < tool->command_count; i++)
        options_visit(tool->commands[i], put_command, out);
    output_text(out, "        esac ;;\n    esac\n}\n\n_kymo \"$@\"\n");
}
