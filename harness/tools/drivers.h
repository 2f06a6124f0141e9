/* drivers - the rows of the table in tool.c, one file each. */
#ifndef TOOLS_DRIVERS_H
#define TOOLS_DRIVERS_H

#include "tools/tool.h"

extern const struct tool tool_restbench;

#endif
