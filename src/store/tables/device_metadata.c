/*
 * Metadata of a device profile: what was profiled, and the figures of its hardware.
 */
#include "store/tables/device_tables.h"

#include <stdio.h>

static void put_clock(struct filler *filler, size_t column, const struct core_hardware *hardware,
                      enum engine engine)
{
    rows_double(&filler->rows, column, hardware->clock_mhz[engine] / 1000.0);
}

static void put_hardware(struct filler *filler, const struct core_hardware *hardware)
{
    rows_double(&filler->rows, META_DMA_BANDWIDTH, device_dma_rate(hardware));
    fill_int(filler, META_DMA_ENGINES, DMA_ENGINES);
    rows_double(&filler->rows, META_HBM_BANDWIDTH, device_hbm_rate(hardware));
    fill_int(filler, META_TENSOR_ROWS, PARTITIONS);
    fill_int(filler, META_TENSOR_COLUMNS, PARTITIONS);
    put_clock(filler, META_TENSOR_CLOCK, hardware, ENGINE_TENSOR);
    put_clock(filler, META_VECTOR_CLOCK, hardware, ENGINE_VECTOR);
    fill_int(filler, META_VECTOR_CHANNELS, PARTITIONS);
    put_clock(filler, META_SCALAR_CLOCK, hardware, ENGINE_SCALAR);
    fill_int(filler, META_SCALAR_CHANNELS, PARTITIONS);
    put_clock(filler, META_GPSIMD_CLOCK, hardware, ENGINE_GPSIMD);
    fill_int(filler, META_GPSIMD_CHANNELS, PARTITIONS);
}

void fill_device_metadata(struct filler *filler, const struct device_cores *cores)
{
    const struct device_core *first = &cores->items[0];
    const struct ntff_header *header = ntff_header(first->profile->ntff);
    const struct neff_header *neff = &neff_info(first->profile->neff)->header;
    const struct device_core *last = &cores->items[cores->count - 1];
    bool is_one = cores->count == 1;
    fill_int(filler, META_NTFF, (int32_t)header->version);
    fill_int(filler, META_CORES, (int32_t)cores->count);
    fill_int(filler, META_VNC, neff->logical_core_size > 1);
    put_hardware(filler, first->profile->hardware);
    put_clock(filler, META_CORE_CLOCK, first->profile->hardware, ENGINE_SCALAR);
    fill_int(filler, META_TICKS, ((int64_t)header->ticks_per_us + 500) / 1000);
    fill_word(filler, META_INSTANCE_TYPE, text_of(header->instance_type));
    fill_word(filler, META_COMPILER_VERSION, text_of(neff->build_version));
    fill_index(filler, META_CORE, is_one, header->core_index);
    fill_index(filler, META_DEVICE,
               header->device_index == ntff_header(last->profile->ntff)->device_index,
               header->device_index);
    fill_int(filler, META_SIMULATION, header->is_simulation);
}
