/* port - a port of 127.0.0.1 for something that we start: PostgreSQL, or a server under test. */
#ifndef MACHINE_PORT_H
#define MACHINE_PORT_H

/*
 * A port that nobody uses now, below the range that the kernel takes clients' ports from: no connection can take it
 * between now and the start, and no TIME_WAIT of one stands on it. 0 when there is none.
 */
int port_choose(void);

#endif
