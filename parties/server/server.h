/*
 * parties/server/server.h - one compute server: the front thread at the gate, the worker, and where
 * owners' vectors are passed on to another server the forwarder.
 */
#pragma once

#include "parties/study/study.h"

#include <stdatomic.h>

struct ranks;
struct setting;

struct server_options {
    const struct study *study;
    const struct setting *setting; /* how its servers compute: parties/setting/setting.h */
    const struct identity *me;     /* one of the study's servers */
    const char *sealing;           /* file with its secret sealing key, or NULL */
    const char *folder;            /* store and audit log */
    const char *listen;            /* address to listen on, or NULL for all */
    uint16_t listen_port;          /* first of the ports to listen on; 0: the endpoint's */
    unsigned lanes;                /* 1 to STUDY_LANES_MAX; 0: one for each processor it may use */
    struct ranks *ranks; /* with lanes of their own, or NULL: parties/settings/three/ranks.h */
    unsigned ahead_s;    /* seconds it is idle before it makes noise ahead; 0: never */
    const char *status;  /* where to show the status pages, or NULL: parties/server/http.h */
    atomic_bool *stop;   /* set from elsewhere to end the server */
    struct log *log;
};

/* Serves until *stop. ERR_AUTH, logged, if the key is not a server's of the study. */
enum err server_run(const struct server_options *options) MUST_CHECK;

/* Ends a study at this server (store_purge()); writes the statement to purge.txt in the folder. */
enum err server_purge(const struct server_options *options) MUST_CHECK;
