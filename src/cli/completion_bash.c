/*
 * Completion for bash: tables of commands, options and value kinds, and a function that parses the
 * words before the cursor. Requires only bash 4.
 */
#include "cli/cli.h"

static const char *const kind_names[] = {
    [WORD_FREE] = "free",           [WORD_CHOICE] = "choice",   [WORD_FILE] = "file",
    [WORD_DIRECTORY] = "directory", [WORD_PROFILE] = "profile", [WORD_COMMAND] = "command",
};

static const char head[] = "# Completion of kymo for bash, made by `kymo --generate bash`.\n";

static const char walk[] =
    "\n"
    "# Completes $2, a word of kind $1.\n"
    "_kymo_reply()\n"
    "{\n"
    "    case $1 in\n"
    "    choice) mapfile -t COMPREPLY < <(compgen -W \"$kymo_choices\" -- \"$2\") ;;\n"
    "    file) mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
    "    directory) mapfile -t COMPREPLY < <(compgen -d -- \"$2\") ;;\n"
    "    command) mapfile -t COMPREPLY < <(compgen -c -- \"$2\") ;;\n"
    "    profile)\n"
    "        local names\n"
    "        names=$(\"$kymo_program\" --generate profiles ${kymo_data:+\"$kymo_data\"} "
    "2>/dev/null)\n"
    "        mapfile -t COMPREPLY < <(IFS=$'\\n' compgen -W \"$names\" -- \"$2\") ;;\n"
    "    esac\n"
    "    [[ $1 != file && $1 != directory ]] || compopt -o filenames 2>/dev/null\n"
    "}\n"
    "\n"
    "_kymo()\n"
    "{\n"
    "    local kymo_program=${COMP_WORDS[0]/#\\~/$HOME} kymo_data= kymo_kind= kymo_choices=\n"
    "    local kymo_operand= kymo_options= kymo_words= command=${COMP_WORDS[1]} "
    "word=${COMP_WORDS[COMP_CWORD]}\n"
    "    local at option operands=0 is_behind=\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$kymo_commands\" -- \"$word\")\n"
    "        return\n"
    "    fi\n"
    "    _kymo_command \"$command\" || return 0\n"
    "    for ((at = 2; at < COMP_CWORD; at++)); do\n"
    "        option=${COMP_WORDS[at]}\n"
    "        if [[ -n $is_behind || $option != -?* ]]; then\n"
    "            ((++operands))\n"
    "            [[ $kymo_operand != command ]] || break\n"
    "        elif [[ $option == -- ]]; then\n"
    "            is_behind=1\n"
    "        elif _kymo_value \"$command $option\"; then\n"
    "            # The shell takes an equals sign for a word of its own.\n"
    "            [[ ${COMP_WORDS[++at]} != = ]] || ((++at))\n"
    "            if ((at >= COMP_CWORD)); then\n"
    "                _kymo_reply \"$kymo_kind\" \"${word#=}\"\n"
    "                return 0\n"
    "            fi\n"
    "            [[ $option != --data-path ]] || kymo_data=${COMP_WORDS[at]/#\\~/$HOME}\n"
    "        fi\n"
    "    done\n"
    "    if [[ $kymo_operand == command ]] && ((operands > 0)); then\n"
    "        if declare -F _command_offset >/dev/null; then\n"
    "            _command_offset \"$at\"\n"
    "        else\n"
    "            _kymo_reply file \"$word\"\n"
    "        fi\n"
    "    elif [[ $word == -* && -z $is_behind ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$kymo_options\" -- \"$word\")\n"
    "    elif [[ -n $kymo_words ]] && ((operands == 0)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$kymo_words\" -- \"$word\")\n"
    "    elif [[ $kymo_operand != profile ]] || ((operands == 0)); then\n"
    "        _kymo_reply \"$kymo_operand\" \"$word\"\n"
    "    fi\n"
    "    return 0\n"
    "}\n"
    "complete -F _kymo kymo\n"
    "# Other tools' names, where they are Kymo and not those tools.\n"
    "for kymo_name in";

static const char tail[] =
    "; do\n"
    "    [[ $(readlink -f \"$(type -P \"$kymo_name\")\") != */kymo ]] || complete -F _kymo "
    "\"$kymo_name\"\n"
    "done\n"
    "unset kymo_name\n"
    "\n"
    "# A command that is a tool of its own.\n"
    "_kymo_tool()\n"
    "{\n"
    "    COMP_WORDS=(kymo \"${COMP_WORDS[0]##*/}\" \"${COMP_WORDS[@]:1}\")\n"
    "    ((++COMP_CWORD))\n"
    "    _kymo\n"
    "}\n";

static void put_value(const struct command *command, const struct option *options, size_t count,
                      void *context)
{
    struct output *out = context;
    for (size_t i = 0; i < count; i++) {
        const struct option *option = &options[i];
        if (option->kind == OPTION_FLAG || option->kind == OPTION_MAYBE)
            continue; /* the next word may be another one */
        output_format(out, "    '%s --%s'", command->name, option->name);
        if (option->letter)
            output_format(out, " | '%s -%c'", command->name, option->letter);
        output_format(out, ") kymo_kind=%s", kind_names[value_of(option)]);
        if (option->kind == OPTION_CHOICE) {
            output_text(out, " kymo_choices='");
            for (const char *const *choice = option->choices; *choice; choice++)
                output_format(out, "%s%s", choice == option->choices ? "" : " ", *choice);
            output_char(out, '\'');
        }
        output_text(out, " ;;\n");
    }
}

static void put_options(const struct command *command, const struct option *options, size_t count,
                        void *context)
{
    struct output *out = context;
    output_format(out, "    %s) kymo_operand=%s kymo_words='", command->name,
                  kind_names[operand_of(command)]);
    if (has_first_words(command))
        put_first_words(command, out);
    output_text(out, "' kymo_options='");
    for (size_t i = 0; i < count; i++) {
        output_format(out, "--%s ", options[i].name);
        if (options[i].letter)
            output_format(out, "-%c ", options[i].letter);
    }
    output_text(out, "--help -h' ;;\n");
}

static void put_commands(const struct tool *tool, struct output *out)
{
    output_text(out, "kymo_commands='");
    for (size_t i = 0; i < tool->command_count; i++)
        output_format(out, "%s ", tool->commands[i]->name);
    for (size_t i = 0; i < tool->option_count; i++)
        output_format(out, "%s--%s", i ? " " : "", tool->options[i].name);
    output_text(out, "'\n");
}

void completion_bash(const struct tool *tool, struct output *out)
{
    output_text(out, head);
    put_commands(tool, out);
    output_text(out, "\n_kymo_command()\n{\n    case $1 in\n");
    for (size_t i = 0; i < tool->command_count; i++)
        options_visit(tool->commands[i], put_options, out);
    output_text(out, "    *) return 1 ;;\n    esac\n}\n"
                     "\n_kymo_value()\n{\n    case $1 in\n");
    for (size_t i = 0; i < tool->command_count; i++)
        options_visit(tool->commands[i], put_value, out);
    output_text(out, "    *) return 1 ;;\n    esac\n}\n");
    output_text(out, walk);
    for (const char *const *name = compat_names; *name; name++)
        output_format(out, " %s", *name);
    output_text(out, tail);
    for (const char *const *name = compat_commands; *name; name++)
        output_format(
            out, "[[ $(readlink -f \"$(type -P %s)\") != */kymo ]] || complete -F _kymo_tool %s\n",
            *name, *name);
}
