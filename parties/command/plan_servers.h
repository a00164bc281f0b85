/* parties/command/plan_servers.h - what `trefoil plan` says about the servers' own work. */
#ifndef TREFOIL_PARTIES_COMMAND_PLAN_SERVERS_H
#define TREFOIL_PARTIES_COMMAND_PLAN_SERVERS_H

#include "parties/study/study.h"

/* Prints exchanges, bytes and time for noise, and for bounding persons if the study does. */
enum err plan_servers(const struct study *study) MUST_CHECK;

#endif
