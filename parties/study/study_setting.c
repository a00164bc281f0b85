#include "parties/study/study_setting.h"

#include "parties/study/study_ports.h"
#include "parties/study/study_text.h"
#include "parties/study/study_uploads.h"

#include <string.h>

static const char *about_servers(enum study_security security)
{
    switch (security) {
    case STUDY_SEMI_HONEST:
        return "  Each is trusted to follow the protocol (security: semi-honest). One that does\n"
               "  not could falsify results, and learn more than the guarantee allows; with\n"
               "  security: abort the run would stop.\n";
    case STUDY_ABORT:
        return "  They prove to each other what they compute (security: abort). If one departs\n"
               "  from the protocol, the run stops, and nothing wrong is opened.\n";
    }
    return "";
}

static const char *about_noise(enum noise_by by)
{
    switch (by) {
    case NOISE_BY_ALL:
        break;
    case NOISE_BY_BOTH:
        return "  Each adds to all that is opened as much noise as the guarantee needs, and the\n"
               "  other does not know it (noise_by: both). So the guarantee holds against either\n"
               "  of them, also together with analysts and other owners. The noise that is left\n"
               "  in results is 1.41 times what three servers together would add.\n";
    case NOISE_BY_JOINT:
        return "  They make the noise on what is opened together, and each adds a small part of\n"
               "  its own (noise_by: joint): less what it knows, each sees as much noise as the\n"
               "  guarantee needs. So the guarantee holds against either of them, also together\n"
               "  with analysts and other owners. The noise that is left in results is 1.02\n"
               "  times what three servers together would add. In choices each adds a whole\n"
               "  one.\n";
    case NOISE_BY_OWNER:
        return "  They add no noise to what is opened: the owner has made it, and sends them\n"
               "  shares of it (noise_by: owner). Neither knows any of it, so the guarantee\n"
               "  holds against either of them, also together with analysts. The noise that is\n"
               "  left in results is as much as three servers together would add.\n";
    }
    return "";
}

static void pair_holds(FILE *out, const struct study *study)
{
    fputs(
        study_encrypts(study)
            ? "\nServers: a provider, which computes on masked counts and encrypted rows, and\n"
              "a keeper, which holds the masks and keys. What each has is random by itself.\n"
            : "\nServers: a provider, which computes on masked counts, and a keeper, which holds\n"
              "the masks. What each has is random by itself.\n",
        out);
}

static void pair_is_trusted(FILE *out, const struct study *study)
{
    const bool encrypts = study_encrypts(study);
    fprintf(out,
            "  The provider sees of each owner the counts plus a mask, which is random to it.\n"
            "  The keeper sees the seed of that mask, which is random to it, too. Each also\n"
            "  sees %s.\n"
            "%s%s"
            "  Nothing bounds what an owner sends as a count. One that lies can make results\n"
            "  useless, and learns nothing by it.\n"
            "  The two together can read each owner's %s: the guarantee holds while they\n"
            "  do not collude, and there is no third to notice. An owner may run one of them.\n"
            "  Each is trusted to follow the protocol (security: semi-honest). One that does\n"
            "  not could falsify results, and learn more than the guarantee allows. Three\n"
            "  servers can prove to each other that they follow it, two cannot.\n",
            study->noise_by == NOISE_BY_OWNER
                ? "what is opened"
                : "the noise that it makes itself, and what is opened",
            encrypts
                ? "  Of an owner of records the provider sees its rows instead, encrypted under a\n"
                  "  key of this owner alone, and counts them as they are. The keeper sees that\n"
                  "  key, and the counts under masks of the provider. It never gets the encrypted\n"
                  "  rows, which the key would open.\n"
                : "",
            about_noise(study->noise_by), encrypts ? "rows" : "counts");
}

static void three_hold(FILE *out, const struct study *study)
{
    (void)study;
    fputs("\nServers: each sees one share of everything, which by itself is random, and\n"
          "the noisy results.\n",
          out);
}

static void three_are_trusted(FILE *out, const struct study *study)
{
    if (study_lanes_most(study, 0) > 1)
        fprintf(out,
                "  For each lane beyond the first a server uses two more ports, behind these:\n"
                "  up to %u lanes (serve --lanes N; by default one for each processor).\n",
                study_lanes_most(study, 0));
    fputs("  Any two servers that collude can read everything. The guarantee against\n"
          "  servers holds while no two do.\n",
          out);
    fputs(about_servers(study->security), out);
}

const struct study_setting *study_setting(const struct study *study)
{
    static const struct study_setting settings[STUDY_SERVERS_MOST + 1] = {
        [2] = {.counts = UPLOAD_WORDS,
               .records = UPLOAD_ENCRYPTED,
               .all = "both",
               .together = "A provider and a keeper",
               .neighbours = "the other server",
               .have = "has",
               .called = {"provider", "keeper"},
               .before = {"the", "The"},
               .left_out = "does not open under the key that came with it",
               .titles = {"Provider", "Keeper"},
               .holdings = {{"masked counts", "the seeds of the masks"},
                            {"masked counts and encrypted rows", "the seeds of masks and keys"}},
               .warning = " There is no third server that could notice. An owner that lies about "
                          "its rows can make results useless, and learns nothing by it.",
               .hold = pair_holds,
               .trusted = pair_is_trusted},
        [3] = {.records = UPLOAD_RECORDS,
               .all = "all three",
               .together = "Three servers",
               .neighbours = "both neighbours",
               .have = "have",
               .called = {"0", "1", "2"},
               .before = {"server", "Server"},
               .left_out = "is not sorted by person",
               .titles = {"Server", "Server", "Server"},
               .holdings = {{"shares", "shares", "shares"}},
               .warning = "",
               .hold = three_hold,
               .trusted = three_are_trusted},
    };
    return &settings[study->servers];
}

void study_describe_servers(FILE *out, const struct study *s)
{
    const struct study_setting *words = study_setting(s);
    words->hold(out, s);
    for (size_t i = 0; i < s->servers; i++) {
        const struct study_server *server = &s->server[i];
        size_t at = 28;
        fprintf(out, "  %s %-*s tcp://%s, ports %u to %u\n  %-20s key %s\n", words->called[i],
                19 - (int)strlen(words->called[i]), server->name, server->host, server->port,
                server->port + STUDY_PORTS - 1u, "",
                public_identity_fingerprint(&server->key).text);
        if (server->ranks > 0)
            fprintf(out, "  %-20s ranks", "");
        for (size_t k = 0; k < server->ranks; k++)
            study_wrap(out, &at, server->rank[k], k + 1 < server->ranks ? "," : "\n");
    }
    words->trusted(out, s);
}
