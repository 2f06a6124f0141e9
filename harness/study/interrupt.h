/*
 * interrupt - Ctrl-C, SIGTERM, SIGHUP: noticed, cleaned up after, and then raised again.
 *
 * interrupt_catch() installs handlers that only set a flag, which ends every wait of machine/child. After cleaning up,
 * interrupt_raise() ends the process by the same signal, so that whoever waits for it sees how it ended. A second
 * signal while cleaning up changes nothing. interrupt_paused() tells whether the process was stopped (SIGTSTP,
 * SIGSTOP) and continued since it was asked last: what was measured meanwhile was not watched.
 */
#ifndef STUDY_INTERRUPT_H
#define STUDY_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);
/* The signal that asks for an end; 0: none yet. */
int interrupt_signal(void);
bool interrupt_paused(void);
/* True once after each of these times: the terminal shows something else by now. */
bool interrupt_resumed(void);
/* All is cleaned up: waits are ended only by one more signal from here on (for what is done at the end of every run).
 */
void interrupt_finish(void);
/* Does not return when a signal came; else does nothing. */
void interrupt_raise(void);

#endif
