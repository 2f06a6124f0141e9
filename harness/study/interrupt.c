#include "study/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "machine/child.h"

static volatile sig_atomic_t caught;
static volatile sig_atomic_t again; /* one more came after interrupt_finish() */
static volatile sig_atomic_t finishing;
static volatile sig_atomic_t continued;
static volatile sig_atomic_t resumed;

static void on_end(int signal)
{
    if (finishing)
        again = signal;
    caught = signal;
}

static void on_continue(int signal)
{
    (void)signal;
    continued = 1;
    resumed = 1;
}

void interrupt_catch(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_end};

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction before;

        /* nohup(1) ignores SIGHUP for its command: keep that. */
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &action, NULL);
    }
    action.sa_handler = on_continue;
    action.sa_flags = SA_RESTART;
    (void)sigaction(SIGCONT, &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
    child_cancel_on(&caught);
}

int interrupt_signal(void)
{
    return caught;
}

void interrupt_finish(void)
{
    finishing = 1;
    child_cancel_on(&again);
}

bool interrupt_paused(void)
{
    bool paused = continued != 0;

    continued = 0;
    return paused;
}

bool interrupt_resumed(void)
{
    bool once = resumed != 0;

    resumed = 0;
    return once;
}

void interrupt_raise(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    int signal = caught;

    if (signal == 0)
        return;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(signal, &action, NULL);
    (void)kill(getpid(), signal);
}
