#include "bench/flaim/report.h"

#include "bench/figures.h"
#include "bench/flaim/costs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- numbers for people ---------------------------------------------------------------------- */

#define CELL 24

static const char *plus_minus(char text[CELL], struct results_mean m, int decimals)
{
    if (m.seeds == 0)
        snprintf(text, CELL, "-");
    else if (m.seeds == 1)
        snprintf(text, CELL, "%.*f", decimals, m.mean);
    else
        snprintf(text, CELL, "%.*f +- %.*f", decimals, m.mean, decimals, m.error);
    return text;
}

static const char *size(char text[CELL], double bytes)
{
    if (!isfinite(bytes))
        snprintf(text, CELL, "-");
    else if (bytes < 1e4)
        snprintf(text, CELL, "%.0f B", bytes);
    else if (bytes < 1e6)
        snprintf(text, CELL, "%.1f kB", bytes / 1e3);
    else
        snprintf(text, CELL, "%.1f MB", bytes / 1e6);
    return text;
}

static bool any(const struct results *r, const struct trial *t)
{
    return results_mean(r, t, "l1").seeds > 0;
}

/* --- tables ---------------------------------------------------------------------------------- */

static void table_head(const char *title)
{
    printf("\n%s\n\n  %-25s %5s %-18s %-18s %-18s %8s %10s %10s %11s\n", title, "method", "seeds",
           "L1", "NLL of unseen rows", "AUC", "clients", "client,wire", "paper's", "servers");
}

static void table_row(const struct results *r, const struct trial *t, const char *name)
{
    struct results_mean l1 = results_mean(r, t, "l1");
    struct costs c = costs_of(r, t);
    char a[CELL], b[CELL], d[CELL], w[CELL], p[CELL], s[CELL];
    if (l1.seeds == 0)
        return;
    printf("  %-28s %2u %-18s %-18s %-18s %6.0f %% %10s %10s %11s\n", name, l1.seeds,
           plus_minus(a, l1, 3), plus_minus(b, results_mean(r, t, "nll"), 2),
           plus_minus(d, results_mean(r, t, "auc"), 3), isfinite(c.clients) ? 100 * c.clients : 100,
           size(w, c.wire), size(p, c.paper), size(s, c.server));
}

static void table1(const struct results *r, const char *split)
{
    for (size_t k = 0; k < 5; k++) {
        struct trial t = plan_trial(plan_tables[k], split, "aim");
        char title[128];
        if (!any(r, &t) || (strcmp(split, "iid") == 0 && strcmp(t.split, "iid") != 0))
            continue;
        snprintf(title, sizeof title, "Table 1, %s, split %s: T = %d, p = 0.1, eps = 1, K = 100",
                 t.table, strcmp(t.split, "file") == 0 ? "by k-means" : t.split, PLAN_ROUNDS);
        table_head(title);
        for (size_t m = 0; m < 7; m++) {
            t.method = plan_table1[m];
            table_row(r, &t, t.method);
        }
    }
}

/* The panel of T on this table; in it, the T at which a method's error is least. */
static const struct plan_panel *rounds_panel(const char *table)
{
    for (size_t k = 0; k < panel_count; k++)
        if (panels[k].vary == VARY_ROUNDS && strcmp(panels[k].table, table) == 0)
            return &panels[k];
    return NULL;
}

static bool best_rounds(const struct results *r, const char *table, const char *method,
                        struct trial *best)
{
    const struct plan_panel *p = rounds_panel(table);
    double least = INFINITY;
    for (size_t v = 0; p != NULL && v < p->values; v++) {
        struct trial t = panel_trial(p, v, method);
        struct results_mean l1 = results_mean(r, &t, "l1");
        if (l1.seeds > 0 && l1.mean < least) {
            least = l1.mean;
            *best = t;
        }
    }
    return isfinite(least);
}

static void table2(const struct results *r)
{
    printf(
        "\nTable 2: AugFLAIM (private) at its best T, DistAIM at the same T and at its own best; a "
        "client's bytes\n\n  %-10s %4s %6s %10s %10s | %6s %10s %10s %8s %9s | %4s %6s\n",
        "table", "T", "L1", "wire", "paper's", "L1", "wire", "paper's", "wire /", "paper's /", "T",
        "L1");
    for (size_t k = 0; k < 5; k++) {
        struct trial flaim, own, same;
        struct costs f, d;
        char w[CELL], p[CELL], dw[CELL], dp[CELL];
        if (!best_rounds(r, plan_tables[k], "augflaim-private", &flaim) ||
            !best_rounds(r, plan_tables[k], "distaim", &own))
            continue;
        same = flaim;
        same.method = "distaim";
        f = costs_of(r, &flaim);
        d = costs_of(r, &same);
        printf("  %-10s %4u %6.3f %10s %10s | %6.3f %10s %10s %8.3f %9.3g | %4u %6.3f\n",
               flaim.table, flaim.rounds, results_mean(r, &flaim, "l1").mean, size(w, f.wire),
               size(p, f.paper), results_mean(r, &same, "l1").mean, size(dw, d.wire),
               size(dp, d.paper), d.wire / f.wire, d.wire / d.paper, own.rounds,
               results_mean(r, &own, "l1").mean);
    }
    printf("  (\"wire /\": DistAIM's over AugFLAIM's; \"paper's /\": over what the paper's DistAIM "
           "sends)\n");
}

static void panel_table(const struct results *r, const struct plan_panel *p)
{
    bool shown = false;
    for (size_t v = 0; v < p->values; v++) {
        struct trial t = panel_trial(p, v, "augflaim-private");
        if (!any(r, &t))
            continue;
        if (!shown) {
            printf("\n%s by %s (L1; then a client's bytes on the wire)\n\n  %8s", p->name, p->axis,
                   "");
            for (size_t m = 0; m < 5; m++)
                printf(" %19s", plan_methods[m]);
            printf("   private, DistAIM\n");
        }
        shown = true;
        printf("  %8g", p->value[v]);
        for (size_t m = 0; m < 5; m++) {
            char cell[CELL];
            t.method = plan_methods[m];
            printf(" %19s", plus_minus(cell, results_mean(r, &t, "l1"), 3));
        }
        struct trial a = panel_trial(p, v, "augflaim-private"), b = panel_trial(p, v, "distaim");
        char one[CELL], two[CELL];
        printf("   %s, %s\n", size(one, costs_of(r, &a).wire), size(two, costs_of(r, &b).wire));
    }
}

static void other_tables(const struct results *r)
{
    for (size_t k = 0; k < 5; k++) {
        struct trial t = plan_trial(plan_tables[k], "file", "flaim-tau");
        char title[128];
        if (!any(r, &t))
            continue;
        snprintf(title, sizeof title, "Ablation, %s, T = %d", t.table, PLAN_ROUNDS);
        table_head(title);
        for (size_t m = 0; m < 10; m++) {
            t.method = plan_ablation[m];
            table_row(r, &t, t.method);
        }
    }
    for (size_t k = 0; k < 5; k++) {
        struct trial t = plan_trial(plan_tables[k], "file", "augflaim-private");
        char title[128];
        t.rounds = 0;
        if (!any(r, &t))
            continue;
        snprintf(title, sizeof title, "Annealed from T0 = 8 d, %s", t.table);
        table_head(title);
        for (size_t m = 0; m < 5; m++) {
            char name[64];
            t.method = plan_methods[m];
            snprintf(name, sizeof name, "%s (%.1f)", t.method, results_mean(r, &t, "rounds").mean);
            table_row(r, &t, name);
        }
        printf("  (in brackets the rounds that it came to)\n");
    }
}

static void servers_row(const struct results *r, const struct trial *t)
{
    const json_t *o = costs_servers(r, t);
    char a[CELL], b[CELL], c[CELL], d[CELL], e[CELL], f[CELL];
    if (o == NULL)
        return;
#define GET(key) json_number_value(json_object_get(o, key))
    printf("  %-10s %4u %-8s %7.0f %8s %8s %8s %11s %11s %9.0f %8s %9.1f %8.1f %6.3f\n", t->table,
           t->rounds, GET("records") > 0.5 ? "records" : "counts", GET("uploads"),
           size(a, GET("sent")), size(b, GET("received")), size(c, GET("vector")),
           size(d, GET("server_bytes")), size(e, GET("noise_bytes")), GET("exchanges"),
           size(f, GET("analyst_bytes")), GET("mpc_s"), GET("estimate_s"), GET("l1"));
#undef GET
}

static void servers_table(const struct results *r)
{
    printf("\nDistAIM over three server processes, seed 1, everybody uploads before the run: "
           "messages of "
           "a client, and between servers all bytes on the wire\n\n"
           "  %-10s %4s %-8s %7s %8s %8s %8s %11s %11s %9s %8s %9s %8s %6s\n",
           "table", "T", "uploads", "clients", "sent", "received", "vector", "servers",
           "of it noise", "exchanges", "analyst", "servers s", "fit s", "L1");
    for (size_t k = 0; k < 5; k++) {
        struct trial t = plan_trial(plan_tables[k], "file", "distaim");
        for (size_t i = 0; i < PLAN_SERVER_ROUNDS; i++) {
            t.rounds = plan_server_rounds[i];
            servers_row(r, &t);
        }
        t.rounds = PLAN_ROUNDS;
        t.counts = true;
        servers_row(r, &t);
    }
}

void report_tables(const struct results *r)
{
    table1(r, "file");
    table1(r, "iid");
    servers_table(r);
    table2(r);
    for (size_t k = 0; k < panel_count; k++)
        panel_table(r, &panels[k]);
    other_tables(r);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *point(const struct results *r, const struct trial *t)
{
    json_t *o = json_object();
    struct results_mean l1 = results_mean(r, t, "l1"), nll = results_mean(r, t, "nll");
    struct costs c = costs_of(r, t);
    figures_put(o, l1.mean, "l1");
    figures_put(o, l1.error, "l1_se");
    figures_put(o, nll.mean, "nll");
    figures_put(o, nll.error, "nll_se");
    figures_put(o, results_mean(r, t, "auc").mean, "auc");
    figures_put(o, results_mean(r, t, "rounds").mean, "rounds");
    figures_put(o, c.clients, "clients");
    figures_put(o, c.wire, "client_bytes_wire");
    figures_put(o, c.paper, "client_bytes_paper");
    figures_put(o, c.wire / c.clients, "client_bytes_wire_participant");
    figures_put(o, c.paper / c.clients, "client_bytes_paper_participant");
    figures_put(o, c.server, "server_bytes");
    figures_put(o, l1.seeds, "seeds");
    return o;
}

static void put_point(const struct results *r, const struct trial *t, json_t *root,
                      const char *table)
{
    char rounds[16];
    if (!any(r, t))
        return;
    snprintf(rounds, sizeof rounds, "%u", t->rounds);
    json_object_set_new(figures_object(figures_object(root, table), t->method), rounds,
                        point(r, t));
}

static void put_tables(const struct results *r, json_t *root)
{
    for (size_t k = 0; k < 5; k++) {
        const struct plan_panel *p = rounds_panel(plan_tables[k]);
        char iid[64];
        snprintf(iid, sizeof iid, "%s-iid", plan_tables[k]);
        for (size_t m = 0; m < 7; m++) {
            struct trial t = plan_trial(plan_tables[k], "file", plan_table1[m]);
            put_point(r, &t, root, t.table);
            for (size_t v = 0; p != NULL && v < p->values; v++) {
                t = panel_trial(p, v, plan_table1[m]);
                put_point(r, &t, root, t.table);
            }
            t = plan_trial(plan_tables[k], "iid", plan_table1[m]);
            if (strcmp(t.split, "iid") == 0)
                put_point(r, &t, root, iid);
        }
    }
}

static void put_sweeps(const struct results *r, json_t *all)
{
    for (size_t k = 0; k < panel_count; k++)
        for (size_t v = 0; v < panels[k].values; v++)
            for (size_t m = 0; m < 5; m++) {
                struct trial t = panel_trial(&panels[k], v, plan_methods[m]);
                char value[32];
                snprintf(value, sizeof value, "%g", panels[k].value[v]);
                if (any(r, &t))
                    json_object_set_new(
                        figures_object(figures_object(all, panels[k].name), t.method), value,
                        point(r, &t));
            }
}

void report_json(const struct results *r, json_t *root)
{
    json_t *servers = figures_object(root, "servers");
    put_tables(r, root);
    put_sweeps(r, figures_object(root, "sweeps"));
    for (size_t k = 0; k < 5; k++) {
        for (size_t m = 0; m < 10; m++) {
            struct trial t = plan_trial(plan_tables[k], "file", plan_ablation[m]);
            if (any(r, &t))
                json_object_set_new(figures_object(figures_object(root, "ablation"), t.table),
                                    t.method, point(r, &t));
        }
        for (size_t m = 0; m < 5; m++) {
            struct trial t = plan_trial(plan_tables[k], "file", plan_methods[m]);
            t.rounds = 0;
            if (any(r, &t))
                json_object_set_new(figures_object(figures_object(root, "annealed"), t.table),
                                    t.method, point(r, &t));
        }
        for (size_t i = 0; i < 2 * PLAN_SERVER_ROUNDS; i++) {
            struct trial t = plan_trial(plan_tables[k], "file", "distaim");
            const json_t *o;
            char name[64];
            t.rounds = plan_server_rounds[i / 2];
            t.counts = i % 2 == 1;
            o = costs_servers(r, &t);
            snprintf(name, sizeof name, "%u%s", t.rounds, t.counts ? "-counts" : "");
            if (o != NULL)
                json_object_set_new(figures_object(servers, t.table), name, json_deep_copy(o));
        }
    }
}
