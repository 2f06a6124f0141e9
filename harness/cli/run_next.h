/* run_next - what a person may want to do after a run that went through, as commands that can be pasted. */
#ifndef CLI_RUN_NEXT_H
#define CLI_RUN_NEXT_H

#include "study/options.h"

/* Lines "next ..." to the log: the whole study when this was a part of it, and a duel of one of the rows of `csv`. */
void run_next_say(const struct run_options *options, const char *csv);

#endif
