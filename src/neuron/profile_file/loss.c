/*
 * The losses of damaged files.
 */
#include "neuron/profile_file/ntff.h"

#include <inttypes.h>
#include <stdio.h>

void ntff_loss_add(struct ntff_loss *sum, const struct ntff_loss *loss)
{
    if (loss->places > 0 && (sum->places == 0 || loss->offset < sum->offset))
        sum->offset = loss->offset;
    if (loss->notifications > 0) {
        bool is_first = sum->notifications == 0;
        if (is_first || loss->first_execution < sum->first_execution)
            sum->first_execution = loss->first_execution;
        if (is_first || loss->last_execution > sum->last_execution)
            sum->last_execution = loss->last_execution;
    }
    sum->places += loss->places;
    sum->bytes += loss->bytes;
    sum->notifications += loss->notifications;
}

const char *ntff_loss_text(const struct ntff_loss *loss, char text[static NTFF_LOSS_SIZE])
{
    char places[40] = "", with[100] = "";
    int length = 0;
    if (loss->places > 1)
        snprintf(places, sizeof places, "in %" PRIu32 " places, first ", loss->places);
    if (loss->notifications > 0)
        length = snprintf(with, sizeof with, " with %" PRIu64 " notification%s of execution",
                          loss->notifications, loss->notifications > 1 ? "s" : "");
    if (loss->notifications > 0 && loss->first_execution < loss->last_execution)
        snprintf(with + length, sizeof with - (size_t)length, "s %" PRIu32 " to %" PRIu32,
                 loss->first_execution, loss->last_execution);
    else if (loss->notifications > 0)
        snprintf(with + length, sizeof with - (size_t)length, " %" PRIu32, loss->first_execution);
    snprintf(text, NTFF_LOSS_SIZE,
             "the file is damaged %sat byte %" PRIu64 ": %" PRIu64 " bytes%s are left out", places,
             loss->offset, loss->bytes, with);
    return text;
}
