/*
 * Writes manual pages with man(7) macros from the tables of commands and options.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

/* A file; `commands` lists the commands that use it, each surrounded by spaces. */
struct entry {
    const char *name, *commands, *meaning;
};

static const struct entry files[] = {
    {"./output", " inspect ",
     "default of --output-dir: a directory per process, named by host and process id"},
    {"~/.local/share/kymo", " view serve sql stats timeline ",
     "default of --data-path: profiles in profiles/global, favorites and markers in notes"},
};

/* Escapes a character so that it is printed literally and can be copied from the page. */
static void put_char(struct output *out, char c)
{
    static const struct {
        char c;
        const char *escaped;
    } special[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                   {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (special[i].c == c) {
            output_text(out, special[i].escaped);
            return;
        }
    output_char(out, c);
}

/* Starts a line with text; a leading dot would make it a request. */
static void put_text(struct output *out, const char *text)
{
    if (*text == '.')
        output_text(out, "\\&");
    for (; *text; text++)
        put_char(out, *text);
}

static void put_bold(struct output *out, const char *text)
{
    output_text(out, "\\fB");
    put_text(out, text);
    output_text(out, "\\fR");
}

/* Usage, with placeholders (names in capitals) in italics. */
static void put_usage(struct output *out, const char *usage)
{
    for (bool is_name = false; *usage || is_name; usage += *usage != '\0') {
        bool is_capital = *usage >= 'A' && *usage <= 'Z';
        if (is_capital != is_name)
            output_text(out, is_capital ? "\\fI" : "\\fR");
        is_name = is_capital;
        if (*usage)
            put_char(out, *usage);
    }
}

static void put_paragraphs(struct output *out, const char *text)
{
    for (const char *end; (end = strstr(text, "\n\n")); text = end + 2) {
        for (; text < end; text++)
            put_char(out, *text);
        output_text(out, "\n.PP\n");
    }
    put_text(out, text);
    output_char(out, '\n');
}

static void put_choices(struct output *out, const char *const *choices)
{
    output_text(out, "; one of");
    for (size_t i = 0; choices[i]; i++) {
        output_text(out, i ? ", " : " ");
        put_bold(out, choices[i]);
    }
}

static void put_option(struct output *out, const struct option *option)
{
    output_text(out, ".TP\n");
    if (option->letter)
        output_format(out, "\\fB\\-%c\\fR, ", option->letter);
    output_text(out, "\\fB\\-\\-");
    put_text(out, option->name);
    output_text(out, "\\fR");
    if (option->argument)
        output_format(out, option->kind == OPTION_MAYBE ? " [\\fI%s\\fR]" : " \\fI%s\\fR",
                      option->argument);
    output_char(out, '\n');
    put_text(out, option->help);
    if (option->choices)
        put_choices(out, option->choices);
    output_char(out, '\n');
}

/* Date of the page: SOURCE_DATE_EPOCH for reproducible builds, otherwise today. */
static void put_date(struct output *out)
{
    const char *given = getenv("SOURCE_DATE_EPOCH");
    time_t when = given && *given ? (time_t)strtoll(given, NULL, 10) : time(NULL);
    struct tm day;
    char text[32] = "";
    if (gmtime_r(&when, &day))
        strftime(text, sizeof text, "%Y-%m-%d", &day);
    output_text(out, text);
}

static void put_head(struct output *out, const char *name, const char *summary)
{
    output_text(out, ".\\\" Made from the program's tables by `kymo --generate man`.\n.TH ");
    for (const char *at = name; *at; at++)
        put_char(out, (char)toupper((unsigned char)*at));
    output_text(out, " 1 ");
    put_date(out);
    output_format(out, " \"Kymo %s\" \"User Commands\"\n.SH NAME\n", KYMO_VERSION);
    put_text(out, name);
    output_text(out, " \\- ");
    put_char(out, (char)tolower((unsigned char)*summary));
    for (const char *at = summary + 1; *at; at++)
        if (*at != '.' || at[1])
            put_char(out, *at);
    output_char(out, '\n');
}

static void put_example(struct output *out, bool is_first, bool is_tool, const char *command,
                        const char *example)
{
    output_text(out, is_first ? ".EX\n$ " : ".PP\n.EX\n$ ");
    put_text(out, is_tool ? "" : "kymo ");
    put_text(out, command);
    output_char(out, ' ');
    put_text(out, example);
    output_text(out, "\n.EE\n");
}

static void put_exit_status(struct output *out)
{
    static const struct {
        int code;
        const char *meaning;
    } codes[] = {{EXIT_DONE, "Success."},
                 {EXIT_FAILED, "Failure, with a message on standard error."},
                 {EXIT_USAGE, "Usage error."},
                 {EXIT_INTERRUPTED, "Interrupted by the user."}};
    output_text(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        output_format(out, ".TP\n%d\n", codes[i].code);
        put_text(out, codes[i].meaning);
        output_char(out, '\n');
    }
}

/* Whether the page of a command, or the program's, lists an entry of these commands. */
static bool is_listed(const char *commands, const char *command)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", command ? command : "");
    return !commands || (command ? strstr(commands, word) != NULL : *commands != '\0');
}

static void put_entry(struct output *out, const char *title, bool *is_first,
                      const struct entry *entry)
{
    if (*is_first)
        output_format(out, ".SH %s\n", title);
    *is_first = false;
    output_text(out, ".TP\n");
    put_bold(out, entry->name);
    output_char(out, '\n');
    put_text(out, entry->meaning);
    output_char(out, '\n');
}

static void put_variables(struct output *out, const char *command)
{
    bool is_first = true;
    for (size_t i = 0; i < environment_count; i++) {
        const struct environment_variable *one = &environment_variables[i];
        if (!is_listed(one->commands, command))
            continue;
        char *meaning = one->fallback ? path_format("%s (default: %s)", one->meaning, one->fallback)
                                      : path_format("%s", one->meaning);
        const struct entry entry = {one->name, one->commands, meaning};
        put_entry(out, "ENVIRONMENT", &is_first, &entry);
        mem_free(meaning);
    }
}

static void put_surroundings(struct output *out, const char *command)
{
    bool is_first = true;
    put_variables(out, command);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (is_listed(files[i].commands, command))
            put_entry(out, "FILES", &is_first, &files[i]);
}

static void put_see_also(struct output *out, const struct tool *tool, const char *except)
{
    output_text(out, ".SH SEE ALSO\n");
    const char *separator = "";
    if (except) {
        output_text(out, ".BR kymo (1)");
        separator = ",\n";
    }
    for (size_t i = 0; i < tool->command_count; i++) {
        if (except && strcmp(tool->commands[i]->name, except) == 0)
            continue;
        output_format(out, "%s.BR kymo\\-%s (1)", separator, tool->commands[i]->name);
        separator = ",\n";
    }
    output_char(out, '\n');
}

struct page {
    const struct tool *tool;
    struct output *out;
    bool is_tool; /* page of a command under its own name as a tool */
};

/* Called by options_visit with the command's table of options, which is valid only during the call.
 */
static void put_command(const struct command *command, const struct option *options, size_t count,
                        void *context)
{
    static const struct option help = {
        "help", 'h', OPTION_FLAG, NULL, NULL, "show the options and examples", NULL};
    struct page *page = context;
    struct output *out = page->out;
    char name[64];
    snprintf(name, sizeof name, "%s%s", page->is_tool ? "" : "kymo-", command->name);
    put_head(out, name, command->summary);
    output_format(out, ".SH SYNOPSIS\n\\fB%s%s\\fR ", page->is_tool ? "" : "kymo ", command->name);
    put_usage(out, command->usage);
    output_text(out, "\n.SH DESCRIPTION\n");
    put_paragraphs(out, command->about);
    output_text(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < count; i++)
        put_option(out, &options[i]);
    put_option(out, &help);
    output_text(out, ".SH EXAMPLES\n");
    for (const char *const *example = command->examples; *example; example++)
        put_example(out, example == command->examples, page->is_tool, command->name, *example);
    put_exit_status(out);
    put_surroundings(out, command->name);
    put_see_also(out, page->tool, page->is_tool ? "" : command->name);
}

/* The page of the program itself: commands are listed, their options have pages of their own. */
static void put_program(const struct tool *tool, struct output *out)
{
    put_head(out, "kymo", "Profiler for machine learning on accelerators");
    output_text(out, ".SH SYNOPSIS\n\\fBkymo\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n");
    put_paragraphs(out, "Kymo records programs, their runtimes and devices, reads recordings of "
                        "other profilers, analyzes them, and shows the results: as a summary, as "
                        "tables for SQL, and as a web page with a timeline.\n\n"
                        "Programs are recorded with kymo inspect, or record themselves with "
                        "kymo/kymo.h and -lkymo. kymo view processes a capture and shows it.");
    output_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < tool->command_count; i++) {
        output_format(out, ".TP\n.BR kymo\\-%s (1)\n", tool->commands[i]->name);
        put_text(out, tool->commands[i]->summary);
        output_char(out, '\n');
    }
    output_text(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < tool->option_count; i++)
        put_option(out, &tool->options[i]);
    output_text(out, ".SH EXAMPLES\n");
    for (size_t i = 0; i < tool->command_count; i++)
        put_example(out, i == 0, false, tool->commands[i]->name, tool->commands[i]->examples[0]);
    put_exit_status(out);
    put_surroundings(out, NULL);
    put_see_also(out, tool, NULL);
}

static void put_compat(const struct tool *tool, const char *name, struct output *out)
{
    put_head(out, name, "Kymo under the name of another tool");
    output_text(out, ".SH SYNOPSIS\n");
    put_bold(out, name);
    output_text(out, " \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n");
    put_text(out, "The same program as kymo, for scripts that call it by this name. Commands and "
                  "options are those of kymo.");
    output_char(out, '\n');
    put_see_also(out, tool, "");
}

static bool open_page(struct output *out, const char *directory, const char *name,
                      struct error *err)
{
    char *path = path_format("%s/%s.1", directory, name);
    bool ok = output_open(out, path, err);
    mem_free(path);
    return ok;
}

static bool write_command(const struct tool *tool, const struct command *command, bool is_tool,
                          const char *directory, struct error *err)
{
    struct output out;
    struct page page = {tool, &out, is_tool};
    char name[64];
    snprintf(name, sizeof name, "%s%s", is_tool ? "" : "kymo-", command->name);
    if (!open_page(&out, directory, name, err))
        return false;
    options_visit(command, put_command, &page);
    return output_commit(&out, err);
}

/* Called by the build. nccom-test and xprof also get a page under their own names, which are
 * programs once installed. */
bool manual_write(const struct tool *tool, const char *directory, struct error *err)
{
    struct output out;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return error_in_file(err, directory, "cannot be made: %s", strerror(errno));
    if (!open_page(&out, directory, "kymo", err))
        return false;
    put_program(tool, &out);
    if (!output_commit(&out, err))
        return false;
    for (size_t i = 0; i < tool->command_count; i++)
        if (!write_command(tool, tool->commands[i], false, directory, err))
            return false;
    if (!write_command(tool, &command_nccom_test, true, directory, err) ||
        !write_command(tool, &command_xprof, true, directory, err))
        return false;
    for (const char *const *name = compat_names; *name; name++) {
        if (!open_page(&out, directory, *name, err))
            return false;
        put_compat(tool, *name, &out);
        if (!output_commit(&out, err))
            return false;
    }
    return true;
}
