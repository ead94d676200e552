/*
 * Analysis pass: findings. Runs the rules and ranks what they say.
 */
#include "analyze/profile/findings.h"

/* Devices without a part in the work say nothing about it. */
static void choose_devices(struct rules *rules)
{
    int64_t most = 0;
    const struct device_activity *activity;
    array_each (activity, rules->activities)
        most = activity->work_ps > most ? activity->work_ps : most;
    bool has_steps = false;
    array_each (activity, rules->activities) {
        if (activity->work_ps <= 0 ||
            (double)activity->work_ps < MIN_DEVICE_WORK_SHARE * (double)most)
            continue;
        *array_push(&rules->devices) = activity;
        rules->window_ps =
            add_saturated(rules->window_ps, sub_saturated(activity->to_ps, activity->from_ps));
        rules->work_ps = add_saturated(rules->work_ps, activity->work_ps);
        rules->kernels += activity->kernels;
        rules->kernel_ps = add_saturated(rules->kernel_ps, activity->kernel_ps);
        has_steps |= activity->has_steps;
    }
    rules->share_of =
        has_steps ? name_of_steps(rules->analysis) : "the time from first to last work";
}

/* Runs the rules that rest on the same lanes, each function once. */
static void find_by(struct rules *rules, unsigned rests_on)
{
    static const struct {
        unsigned rests_on;
        find_function *find;
    } functions[] = {
#define PROFILE_RULE(name, id, title, lanes, function) {lanes, function},
#include "analyze/findings/rules.def"
    };
    size_t first = rules->analysis->findings.count;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].rests_on == rests_on &&
            (i == 0 || functions[i].find != functions[i - 1].find))
            functions[i].find(rules);
    note_incomplete(rules, first, rests_on);
}

void find(struct analysis *analysis, const activity_list *activities, const struct facts *facts)
{
    if (analysis->catalog->has_own_findings)
        return;
    struct rules rules = {.analysis = analysis,
                          .activities = activities,
                          .facts = facts,
                          .framework = framework_of(analysis)};
    choose_devices(&rules);
    if (!analysis->catalog->is_sampled) { /* what needs all that devices did */
        find_by(&rules, RESTS_ON_ALL);
        find_by(&rules, RESTS_ON_DEVICES);
    }
    find_by(&rules, RESTS_ON_HOST);
    findings_sort(&analysis->findings, 0, finding_has_more);
    array_free(&rules.devices);
}
