/*
 * The metrics of table Summary.
 */
#include "analyze/device/intervals.h"

#include <math.h>

static const struct device_metric table[] = {
#define INTEGER true
#define REAL    false
#define METRIC(name, type, unit, meaning, formula)                                                 \
    {#name, unit, meaning, formula, type, offsetof(struct device_metrics, name)},
#include "analyze/device/metrics.def"
#undef METRIC
#undef INTEGER
#undef REAL
};

const struct device_metric *device_metric_at(size_t index)
{
    return index < sizeof table / sizeof *table ? &table[index] : NULL;
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static double seconds(int64_t ps)
{
    return (double)ps / 1e12;
}

/* Operations a second of the Tensor engine, in BF16. */
double device_peak_flops(const struct core_hardware *hardware)
{
    return 2.0 * PARTITIONS * STATIONARY_MAX * hardware->clock_mhz[ENGINE_TENSOR] * 1e6;
}

double device_hbm_rate(const struct core_hardware *hardware)
{
    return (double)hardware->hbm_bytes_per_us * 1e6;
}

double device_dma_rate(const struct core_hardware *hardware)
{
    return (double)hardware->dma_bytes_per_us * DMA_ENGINES * 1e6;
}

/* Operations the model needs for one execution, 0 when not known. */
static uint64_t device_model_flops(const struct core_program *program)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < program->origin_count; i++)
        sum += program->origins[i].model_flops;
    return sum;
}

static uint64_t variables_size(const struct core_program *program, unsigned kinds)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < program->variable_count; i++)
        if (kinds >> program->variables[i].kind & 1)
            sum += program->variables[i].size;
    return sum;
}

struct flow { /* bytes of HBM traffic that limit matrix products */
    double peak, rate, bytes, time;
};

static void set_compute(struct device_metrics *m, const struct device_sums *sums,
                        const struct flow *flow)
{
    double model = (double)m->model_flops;
    double useful = (double)(sums->flops - sums->transpose_flops);
    double balance = flow->peak / flow->rate;
    m->hardware_flops = (int64_t)sums->flops;
    m->transpose_flops = (int64_t)sums->transpose_flops;
    m->adjusted_hardware_flops = (int64_t)sums->adjusted_flops;
    m->adjusted_transpose_flops = (int64_t)sums->adjusted_transpose_flops;
    m->peak_flops_bandwidth_ratio = balance;
    m->mm_arithmetic_intensity = ratio(useful, flow->bytes);
    m->mfu_estimated_percent = ratio(model, flow->peak * flow->time);
    m->mfu_max_achievable_estimated_percent = ratio(model, flow->bytes) / balance;
    m->mfu_hlo_estimated_percent = m->mfu_estimated_percent;
    m->mfu_hlo_max_achievable_estimated_percent = m->mfu_max_achievable_estimated_percent;
    m->mfu_inst_estimated_percent = ratio(useful, flow->peak * flow->time);
    m->mfu_inst_max_achievable_estimated_percent = m->mm_arithmetic_intensity / balance;
    m->hfu_estimated_percent = ratio((double)sums->flops, flow->peak * flow->time);
    m->matmul_instruction_count = (int64_t)sums->matmuls;
}

static void set_engines(struct device_metrics *m, const struct device_sums *sums, double total)
{
#define SET(engine, number)                                                                        \
    m->engine##_engine_instruction_time = seconds(sums->instruction_ps[number]);                   \
    m->engine##_engine_active_time = seconds(sums->unit_active_ps[number]);                        \
    m->engine##_engine_active_time_percent = ratio(seconds(sums->unit_active_ps[number]), total);  \
    m->engine##_engine_instruction_count = (int64_t)sums->instructions[number];
    SET(tensor, ENGINE_TENSOR)
    SET(vector, ENGINE_VECTOR)
    SET(scalar, ENGINE_SCALAR)
    SET(gpsimd, ENGINE_GPSIMD)
    SET(sync, ENGINE_SYNC)
#undef SET
    m->activate_instruction_time = seconds(sums->activate_ps);
    m->activate_instruction_count = (int64_t)sums->activates;
}

/* Starts trace_count, which device_metrics_make completes. Active times of software and
 * hardware DMA overlap, so dynamic DMA has a sum of its own. */
static void set_dma_classes(struct device_metrics *m, const struct device_sums *sums, double total)
{
    uint64_t packets = 0, bytes = 0;
    for (unsigned i = 0; i < DMA_CLASSES; i++) {
        packets += sums->packets[i];
        bytes += sums->packet_bytes[i];
    }
#define SET(kind, class)                                                                           \
    m->kind##_dma_active_time = seconds(sums->class_active_ps[class]);                             \
    m->kind##_dma_active_time_percent = ratio(seconds(sums->class_active_ps[class]), total);       \
    m->kind##_dma_packet_count = (int64_t)sums->packets[class];                                    \
    m->kind##_dma_size = (int64_t)sums->packet_bytes[class];                                       \
    m->kind##_dma_packet_percent = ratio((double)sums->packets[class], (double)packets);           \
    m->kind##_dma_size_percent = ratio((double)sums->packet_bytes[class], (double)bytes);
    SET(static, DMA_CLASS_STATIC)
    SET(software_dynamic, DMA_CLASS_SOFTWARE)
    SET(hardware_dynamic, DMA_CLASS_HARDWARE)
#undef SET
    uint64_t dynamic = packets - sums->packets[DMA_CLASS_STATIC];
    uint64_t dynamic_bytes = bytes - sums->packet_bytes[DMA_CLASS_STATIC];
    m->dynamic_dma_active_time_percent = ratio(seconds(sums->dynamic_active_ps), total);
    m->dynamic_dma_packet_percent = ratio((double)dynamic, (double)packets);
    m->dynamic_dma_size_percent = ratio((double)dynamic_bytes, (double)bytes);
    m->trace_count = (int64_t)(packets + sums->cc_steps);
}

static void set_dma(struct device_metrics *m, const struct device_sums *sums, double total)
{
    set_dma_classes(m, sums, total);
    m->dma_active_time = seconds(sums->unit_active_ps[DEVICE_UNIT_DMA]);
    m->dma_active_time_percent = ratio(m->dma_active_time, total);
    m->dma_packet_time = seconds(sums->packet_ps);
    m->dma_transfer_time = seconds(sums->transfer_ps);
    m->dma_transfer_count = (int64_t)sums->transfers;
    m->dma_transfer_total_bytes = (int64_t)sums->transfer_bytes;
    m->dma_transfer_average_bytes = ratio((double)sums->transfer_bytes, (double)sums->transfers);
}

static void set_bytes(struct device_metrics *m, const struct device_sums *sums)
{
    m->hbm_read_bytes = (int64_t)sums->hbm_read;
    m->hbm_write_bytes = (int64_t)sums->hbm_write;
    m->sbuf_read_bytes = (int64_t)sums->sbuf_read;
    m->sbuf_write_bytes = (int64_t)sums->sbuf_write;
    m->spill_save_bytes = (int64_t)sums->spill_save;
    m->spill_reload_bytes = (int64_t)sums->spill_reload;
    m->psum_read_bytes = (int64_t)sums->psum_read;
    m->psum_write_bytes = (int64_t)sums->psum_write;
    m->psum_read_sbuf_write_count = (int64_t)sums->evacuations;
    m->psum_read_sbuf_write_bytes = (int64_t)sums->evacuated_bytes;
    m->input_queue_bytes = (int64_t)sums->input_bytes;
    m->output_queue_bytes = (int64_t)sums->output_bytes;
    m->weight_queue_bytes = (int64_t)sums->weight_bytes;
}

static void set_sizes(struct device_metrics *m, const struct core_program *program,
                      uint32_t executions, const struct flow *flow)
{
    enum { INPUT = 1 << VARIABLE_INPUT, OUTPUT = 1 << VARIABLE_OUTPUT };
    enum { WEIGHT = 1 << VARIABLE_WEIGHT };
    m->weight_size_bytes = (int64_t)variables_size(program, WEIGHT);
    m->inputs_and_weights_size_bytes = (int64_t)variables_size(program, INPUT | WEIGHT);
    m->inputs_outputs_weights_size_bytes =
        (int64_t)variables_size(program, INPUT | WEIGHT | OUTPUT);
    m->dma_queue_count = program->queue_count;
    m->mbu_estimated_percent = ratio(flow->bytes, flow->time * flow->rate);
    m->mbu_min_read_util_percent =
        ratio((double)m->inputs_and_weights_size_bytes * executions, flow->time * flow->rate);
}

static void set_collectives(struct device_metrics *m, const struct device_sums *sums, double total)
{
    m->cc_op_time = seconds(sums->cc_op_ps);
    m->cc_op_active_time = seconds(sums->unit_active_ps[DEVICE_UNIT_COLLECTIVES]);
    m->cc_op_active_time_percent = ratio(m->cc_op_active_time, total);
    m->cc_op_count = (int64_t)sums->cc_ops;
    m->cc_cores_instruction_time = seconds(sums->cc_step_ps);
    m->cc_cores_instruction_active_time = seconds(sums->unit_active_ps[DEVICE_UNIT_CC_CORES]);
    m->cc_cores_instruction_active_time_percent = ratio(m->cc_cores_instruction_active_time, total);
    m->cc_cores_instruction_count = (int64_t)sums->cc_steps;
}

/* Everything derives from sums, so one execution and many are computed alike. set_dma starts
 * trace_count, to which the instructions are added. Cycles are those of the Scalar engine's
 * clock. */
void device_metrics_make(struct device_metrics *m, const struct device_profile *profile,
                         const struct device_sums *sums)
{
    *m = (struct device_metrics){0};
    const struct core_hardware *hardware = profile->hardware;
    double total = seconds(sums->total_ps);
    double base_clock = hardware->clock_mhz[ENGINE_SCALAR] * 1e6;
    struct flow flow = {.peak = device_peak_flops(hardware),
                        .rate = device_hbm_rate(hardware),
                        .bytes = (double)(sums->hbm_read + sums->hbm_write),
                        .time = total};
    m->model_flops = (int64_t)(device_model_flops(profile->program) * sums->executions);
    set_compute(m, sums, &flow);
    set_engines(m, sums, total);
    set_dma(m, sums, total);
    set_bytes(m, sums);
    set_sizes(m, profile->program, sums->executions, &flow);
    set_collectives(m, sums, total);
    m->total_time = total;
    m->total_exec_time = seconds(sums->work_ps);
    m->total_active_time = seconds(sums->active_ps);
    m->total_active_time_percent = ratio(m->total_active_time, total);
    m->neuroncore_cycle_count = llround(total * base_clock);
    m->dma_active_cycles = llround(m->dma_active_time * base_clock);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        m->trace_count += (int64_t)sums->instructions[e];
    m->event_count = (int64_t)sums->updates;
    m->total_row_count = m->trace_count + m->event_count +
                         (int64_t)(sums->transfers + sums->cc_ops + sums->errors + sums->throttles);
}
