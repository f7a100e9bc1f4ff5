// SPDX-License-Identifier: GPL-2.0-only
/* A full segment of data as the stack hands it to a qdisc. */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/sch_generic.h>
#include "cost.h"

/* The hash is there, as a socket or a network card leaves it, so that fq_codel need not look for the ports. */
struct sk_buff *cost_packet(struct net_device *dev, unsigned int flow)
{
	struct sk_buff *skb = alloc_skb(NET_SKB_PAD + COST_FRAME, GFP_KERNEL);
	struct ethhdr *eth;
	struct iphdr *iph;
	struct tcphdr *th;

	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD);
	skb->dev = dev;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->protocol = htons(ETH_P_IP);

	skb_reset_mac_header(skb);
	eth = skb_put_zero(skb, sizeof(*eth));
	eth_broadcast_addr(eth->h_dest);
	eth->h_proto = skb->protocol;

	skb_set_network_header(skb, skb->len);
	iph = skb_put_zero(skb, sizeof(*iph));
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tot_len = htons(COST_FRAME - ETH_HLEN);
	iph->frag_off = htons(IP_DF);
	iph->ttl = 64;
	iph->protocol = IPPROTO_TCP;
	iph->saddr = htonl(0x0a000000 + flow);
	iph->daddr = htonl(0xc0000201);
	ip_send_check(iph);

	skb_set_transport_header(skb, skb->len);
	th = skb_put_zero(skb, sizeof(*th));
	th->source = htons(80);
	th->dest = htons(1024 + flow);
	th->doff = sizeof(*th) / 4;
	th->ack = 1;
	skb_put_zero(skb, COST_FRAME - skb->len);

	/* The golden ratio spreads small numbers over all of the hash. */
	skb_set_hash(skb, (flow + 1) * 0x9e3779b9, PKT_HASH_TYPE_L4);
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	qdisc_skb_cb(skb)->pkt_segs = 1;
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_GENERIC);
	return skb;
}
