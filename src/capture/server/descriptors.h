/*
 * The server's descriptors, which a child of fork closes.
 */
#ifndef KYMO_CAPTURE_SERVER_DESCRIPTORS_H
#define KYMO_CAPTURE_SERVER_DESCRIPTORS_H

/* Remembers what `open` returns, without a fork in between; returns it. When there is no room, it
 * is closed again and -1 returned. */
int descriptor_keep(int (*open)(void *context), void *context);
void descriptor_close(int fd);

/* Around a fork. */
void descriptors_lock(void);
void descriptors_unlock(void);
/* In the child, with the lock held. */
void descriptors_close_all(void);

#endif
