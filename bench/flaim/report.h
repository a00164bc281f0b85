/*
 * bench/flaim/report.h - the results as tables on the terminal, as JSON, and as SVG plots by
 * gnuplot.
 *
 * JSON: for each table ("adult"; "adult-iid" with an even split), method and T at eps = 1, p = 0.1,
 * s = 1
 *   { l1, l1_se, nll, nll_se, auc, seeds, clients, client_bytes_wire, client_bytes_paper,
 *     client_bytes_wire_participant, client_bytes_paper_participant, server_bytes }
 * client bytes are sent and received, mean over all clients, or over those that take part. Server
 * bytes are what a coordinating server exchanges with clients (FLAIM), or what three servers send
 * each other (DistAIM, if it was run over servers). Also "sweeps" (a panel each), "ablation",
 * "annealed" and "servers".
 */
#pragma once

#include "bench/flaim/plan.h"
#include "bench/flaim/results.h"

void report_tables(const struct results *r);
void report_json(const struct results *r, json_t *root);
/* Writes PREFIX-PANEL.svg; says so if gnuplot is absent. */
void report_plots(const struct results *r, const char *prefix);
