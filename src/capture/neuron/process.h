/*
 * The interposer in the life of its process.
 */
#ifndef KYMO_CAPTURE_NEURON_PROCESS_H
#define KYMO_CAPTURE_NEURON_PROCESS_H

/* A fork waits for our calls of the runtime before the runtime's own handlers take its locks, if it
 * has any. To be called when the runtime is initialized, with no lock held. */
void process_watch_forks(void);

#endif
