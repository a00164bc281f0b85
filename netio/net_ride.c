/* Statements that ride ahead of an exchange's payloads. */
#include "base/clock.h"
#include "netio/net_private.h"

void net_load(struct net *net, const struct net_exchange *exchange)
{
    for (unsigned p = 0; p + 1 < net->servers; p++) {
        net->link[p].outgoing = (struct net_outgoing){
            .from = exchange->send[p], .size = exchange->send_size[p], .tile = NET_FRAME_BODY};
        net->link[p].incoming = (struct net_incoming){
            .to = exchange->receive[p], .size = exchange->receive_size[p], .tile = NET_FRAME_BODY};
    }
}

void net_ride(struct net *net, const struct net_rider *rider)
{
    net->next_rider = *rider;
}

void net_mount(struct net *net)
{
    net->rider = net->next_rider;
    net->next_rider = (struct net_rider){0};
    for (unsigned p = 0; p + 1 < net->servers; p++) {
        struct net_link *link = &net->link[p];
        link->said = net->rider.heard == NULL;
        link->later_out = link->outgoing;
        link->later_in = link->incoming;
    }
    if (net->rider.heard != NULL)
        net_load(net, &net->rider.blocks);
}

void net_say(struct net_link *link)
{
    if (link->said || link->outgoing.done < link->outgoing.size)
        return;
    link->said = true;
    link->outgoing = link->later_out;
}

enum err net_hear(struct net *net, bool *moved)
{
    const struct net_rider rider = net->rider;
    enum err e;
    if (rider.heard == NULL)
        return ERR_OK;
    for (unsigned p = 0; p + 1 < net->servers; p++)
        if (!net->link[p].said || net->link[p].incoming.done < net->link[p].incoming.size)
            return ERR_OK;
    net->rider = (struct net_rider){0};
    e = rider.heard(rider.self);
    if (e != ERR_OK)
        net->exchange++; /* whoever still waits for the third server's statement gets that first */
    for (unsigned p = 0; p + 1 < net->servers; p++) {
        struct net_link *link = &net->link[p];
        link->incoming = link->later_in;
        link->send_by = link->receive_by = clock_now_ms() + net->deadline_ms;
    }
    *moved = true;
    return e;
}
