/*
 * Which line of the program's Python the calling thread is in. Python is found at run time; a
 * program without it has no lines.
 */
#ifndef KYMO_CAPTURE_CUDA_PYTHON_LINES_H
#define KYMO_CAPTURE_CUDA_PYTHON_LINES_H

#include <stdbool.h>

struct python_line {
    const char *file; /* lives as long as the process */
    int line;
};

/* The innermost frame that is not PyTorch's own. False when there is none, when Python does not
 * know the thread or is ending, and when asking costs the program too much. */
bool python_line(struct python_line *line);

#endif
