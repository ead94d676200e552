/*
 * Findings about slow ranks and machines.
 */
#include "report/fleet/findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const struct {
    const char *cause, *what, *advice;
} causes[] = {
    {"compute", "it computes longer",
     "Compare the device's clocks, temperature and power with those of its neighbors; a device "
     "that "
     "throttles or has memory errors computes longer in all kernels, uneven input in some."},
    {"host", "its host launches work later",
     "Look at the host: other processes on its cores, garbage collection, logging, a slow disk; "
     "open the rank's capture and see what the launching thread does before the gaps."},
    {"input", "it waits longer for input",
     "Look at the input pipeline of this rank: its storage, its number of workers, uneven shards."},
    {"compile", "it compiles in these steps",
     "Shapes change on this rank: pad its batches to fixed sizes."},
    {"copy", "it copies longer",
     "Look at the link between host and device (width and speed of PCIe, pinned memory), and at "
     "what "
     "is copied."},
    {"gaps", "there are longer gaps between its kernels",
     "Look for many small kernels on this rank that others do not run."},
    {"other streams", "its device waits for other streams longer",
     "Open the rank's capture and look at what its streams wait for."},
    {"unknown", "no one kind of work differs from that of its peers",
     "Open the rank's capture beside that of a neighbor."},
};

static size_t cause_of(struct text name)
{
    size_t count = sizeof causes / sizeof *causes, i = 0;
    while (i + 1 < count && !text_equal(name, text_of(causes[i].cause)))
        i++;
    return i;
}

enum {
    S_RANK,
    S_DEVICE,
    S_INSTANCE,
    S_KIND,
    S_FIRST,
    S_STEPS,
    S_LATE,
    S_EXCESS,
    S_EXPECTED,
    S_MEAN,
    S_CAUSE,
    S_CAUSE_NS,
    S_KERNEL,
    S_KERNEL_EXCESS,
    S_KERNEL_USUAL,
    S_ONE_KERNEL,
    S_CAME_LAST,
    S_COLLECTIVES,
    S_SAVED,
    S_WORK_USUAL,
    S_DEVICES,
    S_MACHINE_SLOW,
    S_MACHINE_LANES,
    S_MACHINE_SAVED,
};

static void put_since(struct output *out, const struct run_findings *findings,
                      const struct sql_result *result, size_t row)
{
    struct text kind = sql_value(result, row, S_KIND);
    int64_t first = row_integer(result, row, S_FIRST);
    if (text_equal(kind, TEXT("since")))
        output_format(out, "is slow since step %" PRId64, first);
    else if (text_equal(kind, TEXT("at times")))
        output_format(out, "is slow at times: in %" PRId64 " of %" PRId64 " steps",
                      row_integer(result, row, S_LATE), row_integer(result, row, S_STEPS));
    else
        output_text(out, findings->steps > 0 ? "is slow in all steps" : "is slow");
}

static void put_kernels(struct output *out, const struct sql_result *result, size_t row)
{
    char excess[QUANTITY_SIZE], usual[QUANTITY_SIZE];
    if (!row_has(result, row, S_KERNEL) ||
        !text_equal(sql_value(result, row, S_CAUSE), TEXT("compute")))
        return;
    struct text kernel = sql_value(result, row, S_KERNEL);
    double kernel_excess = row_number(result, row, S_KERNEL_EXCESS);
    run_finding_time(kernel_excess, excess);
    run_finding_time(row_number(result, row, S_KERNEL_USUAL), usual);
    if (row_true(result, row, S_ONE_KERNEL))
        output_format(out, ", in one kernel: %.*s takes %s more than the usual %s",
                      (int)kernel.size, kernel.data, excess, usual);
    else if (row_number(result, row, S_WORK_USUAL) > 0)
        output_format(
            out, ", in its kernels by %.1f %% together; %.*s takes %s more than the usual %s",
            100 * row_number(result, row, S_CAUSE_NS) / row_number(result, row, S_WORK_USUAL),
            (int)kernel.size, kernel.data, excess, usual);
}

static const char *taken(struct run_findings *findings, struct output *out)
{
    const char *text = arena_copy_text(&findings->findings.texts, out->data, out->size);
    output_discard(out);
    return text;
}

static void put_straggler(struct output *out, const struct sql_result *result, size_t row)
{
    double excess = row_number(result, row, S_EXCESS);
    char late[QUANTITY_SIZE];
    output_format(
        out,
        "In %" PRId64 " of %" PRId64 " steps its own time was %s (%.1f %%) longer than the "
        "median of ranks with the same program: %s",
        row_integer(result, row, S_LATE), row_integer(result, row, S_STEPS),
        run_finding_time(excess, late), 100 * excess / row_number(result, row, S_EXPECTED),
        causes[cause_of(sql_value(result, row, S_CAUSE))].what);
    put_kernels(out, result, row);
    output_format(out, ". It came last in %" PRId64 " of %" PRId64 " collectives.",
                  row_integer(result, row, S_CAME_LAST), row_integer(result, row, S_COLLECTIVES));
}

/* Most ranks of a machine are slow: then it is the machine. */
static bool is_machine_slow(const struct sql_result *result, size_t row)
{
    int64_t slow = row_integer(result, row, S_MACHINE_SLOW);
    return slow > 1 &&
           (double)slow >= SLOW_MACHINE_SHARE * (double)row_integer(result, row, S_MACHINE_LANES);
}

static bool is_machine_known(const struct run_findings *findings, struct text machine)
{
    const struct finding *finding;
    array_each (finding, &findings->findings)
        if (finding->run.machine && text_equal(text_of(finding->run.machine), machine))
            return true;
    return false;
}

/* What is said of a rank, or of a machine by its slowest rank. */
static void describe_straggler(struct finding *finding, struct run_findings *findings,
                               const struct sql_result *result, size_t row)
{
    struct text instance = sql_value(result, row, S_INSTANCE);
    struct output title, statement;
    output_memory(&title);
    output_memory(&statement);
    if (finding->run.machine) {
        output_format(&title, "Machine %s ", finding->run.machine);
        output_format(&statement,
                      "%" PRId64 " of its %" PRId64
                      " devices are slow. The slowest is rank %" PRId64 ". ",
                      row_integer(result, row, S_MACHINE_SLOW),
                      row_integer(result, row, S_MACHINE_LANES), finding->run.rank);
    } else {
        output_format(&title, "Rank %" PRId64, finding->run.rank);
        if (row_integer(result, row, S_DEVICES) > 1)
            output_format(&title, " device %" PRId64, finding->run.device);
        output_format(&title, " on %.*s ", (int)instance.size, instance.data);
    }
    put_since(&title, findings, result, row);
    put_straggler(&statement, result, row);
    finding->title = taken(findings, &title);
    finding->text = taken(findings, &statement);
}

bool add_straggler(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    bool is_machine = is_machine_slow(result, row);
    struct text machine = sql_value(result, row, S_INSTANCE);
    if (is_machine && is_machine_known(findings, machine))
        return true;
    struct finding *finding =
        run_finding_add(findings, is_machine ? RULE_SLOW_MACHINE : RULE_RUN_STRAGGLER, result, row);
    size_t saved = is_machine ? S_MACHINE_SAVED : S_SAVED;
    double late_share =
        (double)row_integer(result, row, S_LATE) / (double)row_integer(result, row, S_STEPS);
    if (is_machine)
        finding->run.machine = finding_text(findings, "%.*s", (int)machine.size, machine.data);
    finding->run.rank = row_integer(result, row, S_RANK);
    finding->run.device = row_integer(result, row, S_DEVICE);
    describe_straggler(finding, findings, result, row);
    finding->advice = causes[cause_of(sql_value(result, row, S_CAUSE))].advice;
    finding->run.cost_ns = row_has(result, row, saved)
                               ? fmax(0, row_number(result, row, saved)) * late_share
                               : row_number(result, row, S_MEAN);
    return true;
}
