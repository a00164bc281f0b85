/* parties/command/plan_servers.h - what `trefoil plan` says of the servers' own work. */
#ifndef TREFOIL_PARTIES_COMMAND_PLAN_SERVERS_H
#define TREFOIL_PARTIES_COMMAND_PLAN_SERVERS_H

#include "parties/study/study.h"

/* Exchanges, bytes and time of noise; and of bounding persons, where the study does. */
enum err plan_servers(const struct study *study) MUST_CHECK;

#endif
