// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets as the stack hands them to a qdisc, made from their description: headers in place, sums correct, payload zero.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/route.h>
#include <net/sch_generic.h>
#include <net/tcp.h>
#include "replay.h"

#define REPLAY_PORT		80

/* CHOKe distinguishes flows of IPv6 by the ports and half of the source address, so both differ. */
static __be16 client_port(const struct replay_request *request)
{
	return htons(1024 + request->flow % 50000);
}

static unsigned int tcp_options_len(const struct replay_request *request)
{
	unsigned int len = 0;

	if (request->tcp_options & REPLAY_TIMESTAMPS)
		len += TCPOLEN_TSTAMP_ALIGNED;
	if (request->tcp_options & REPLAY_OTHER_OPTION)
		len += TCPOLEN_EXP_FASTOPEN_BASE;
	if (request->sack_count)
		len += TCPOLEN_SACK_BASE_ALIGNED + request->sack_count * TCPOLEN_SACK_PERBLOCK;
	return len;
}

static unsigned int transport_len(const struct replay_request *request)
{
	if (request->protocol != IPPROTO_TCP)
		return sizeof(struct udphdr);
	return sizeof(struct tcphdr) + tcp_options_len(request);
}

static unsigned int headers_len(const struct replay_request *request)
{
	return ETH_HLEN + (request->tags & REPLAY_TAG_IN_LINE ? VLAN_HLEN : 0) +
	       (request->version == 6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) +
	       transport_len(request);
}

static void put_ipv4(struct sk_buff *skb, const struct replay_request *request, unsigned int len)
{
	struct iphdr *iph = skb_put_zero(skb, sizeof(*iph));

	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = request->ds;
	iph->tot_len = htons(len);
	iph->frag_off = htons(IP_DF);
	iph->ttl = 64;
	iph->protocol = request->protocol;
	iph->saddr = htonl(0x0a000000 | (request->flow & 0xffffff));
	iph->daddr = htonl(0xc0000201);
	ip_send_check(iph);
}

static void put_ipv6(struct sk_buff *skb, const struct replay_request *request, unsigned int len)
{
	struct ipv6hdr *ip6h = skb_put_zero(skb, sizeof(*ip6h));

	ip6_flow_hdr(ip6h, request->ds, 0);
	ip6h->payload_len = htons(len - sizeof(*ip6h));
	ip6h->hop_limit = 64;
	ip6h->nexthdr = request->protocol;
	ip6h->saddr.s6_addr32[0] = htonl(0x20010db8);
	ip6h->saddr.s6_addr32[1] = htonl(request->flow & 0xffffff);
	ip6h->daddr.s6_addr32[0] = htonl(0x20010db8);
	ip6h->daddr.s6_addr32[1] = htonl(1);
}

static void put_tcp_options(struct sk_buff *skb, const struct replay_request *request)
{
	__be32 *option = skb_put_zero(skb, tcp_options_len(request));
	int i;

	if (request->tcp_options & REPLAY_TIMESTAMPS) {
		*option++ = htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 |
				  TCPOPT_TIMESTAMP << 8 | TCPOLEN_TIMESTAMP);
		*option++ = htonl(request->timestamps[0]);
		*option++ = htonl(request->timestamps[1]);
	}
	if (request->tcp_options & REPLAY_OTHER_OPTION)
		*option++ = htonl((u32)TCPOPT_EXP << 24 | TCPOLEN_EXP_FASTOPEN_BASE << 16 | 0x1234);
	if (!request->sack_count)
		return;
	*option++ = htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 | TCPOPT_SACK << 8 |
			  (TCPOLEN_SACK_BASE + request->sack_count * TCPOLEN_SACK_PERBLOCK));
	for (i = 0; i < request->sack_count; i++) {
		*option++ = htonl(request->sack[i][0]);
		*option++ = htonl(request->sack[i][1]);
	}
}

static void put_tcp(struct sk_buff *skb, const struct replay_request *request)
{
	struct tcphdr *th = skb_put_zero(skb, sizeof(*th));

	th->source = client_port(request);
	th->dest = htons(REPLAY_PORT);
	th->seq = htonl(request->number);
	th->ack_seq = htonl(request->ack);
	th->doff = transport_len(request) / 4;
	((u8 *)th)[13] = request->tcp_flags;
	put_tcp_options(skb, request);
}

static void put_udp(struct sk_buff *skb, const struct replay_request *request, unsigned int len)
{
	struct udphdr *uh = skb_put_zero(skb, sizeof(*uh));

	uh->source = client_port(request);
	uh->dest = htons(REPLAY_PORT);
	uh->len = htons(len);
}

/*
 * The packet that @request describes, ready for enqueue; its number is in the mark.
 * An error pointer if there is no such packet: -EINVAL, or -ENOMEM.
 */
struct sk_buff *replay_packet(struct net_device *dev, const struct replay_request *request)
{
	__be16 protocol = htons(request->version == 6 ? ETH_P_IPV6 : ETH_P_IP);
	bool in_line = request->tags & REPLAY_TAG_IN_LINE;
	unsigned int left, headers;
	struct sk_buff *skb;
	struct ethhdr *eth;

	if (request->version != 4 && request->version != 6)
		return ERR_PTR(-EINVAL);
	if (request->sack_count > REPLAY_SACK_MAX || tcp_options_len(request) > MAX_TCP_OPTION_SPACE)
		return ERR_PTR(-EINVAL);
	headers = headers_len(request);
	if (request->bytes < headers || request->bytes > 65535)
		return ERR_PTR(-EINVAL);
	skb = alloc_skb(NET_SKB_PAD + request->bytes, GFP_KERNEL);
	if (!skb)
		return ERR_PTR(-ENOMEM);
	skb_reserve(skb, NET_SKB_PAD);
	skb->dev = dev;
	skb->mark = request->number;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->protocol = in_line ? htons(ETH_P_8021Q) : protocol;

	skb_reset_mac_header(skb);
	eth = skb_put_zero(skb, ETH_HLEN);
	eth_broadcast_addr(eth->h_dest);
	eth->h_proto = skb->protocol;
	if (in_line) {
		struct vlan_hdr *vlan = skb_put_zero(skb, VLAN_HLEN);

		vlan->h_vlan_TCI = htons(7);
		vlan->h_vlan_encapsulated_proto = protocol;
	}
	if (request->tags & REPLAY_TAG_ACCELERATED)
		__vlan_hwaccel_put_tag(skb, htons(ETH_P_8021Q), 5);

	left = request->bytes - skb->len;
	skb_set_network_header(skb, skb->len);
	if (request->version == 6)
		put_ipv6(skb, request, left);
	else
		put_ipv4(skb, request, left);
	/* As in a router: ip_forward() sets the priority, ip6_forward() does not. */
	if (request->version == 4)
		skb->priority = rt_tos2priority(request->ds);
	left = request->bytes - skb->len;
	skb_set_transport_header(skb, skb->len);
	if (request->protocol == IPPROTO_TCP)
		put_tcp(skb, request);
	else
		put_udp(skb, request, left);
	skb_put_zero(skb, request->bytes - skb->len);

	__skb_set_sw_hash(skb, request->hash, true);
	if (request->truesize)
		skb->truesize = request->truesize;
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	qdisc_skb_cb(skb)->pkt_segs = 1;
	tcf_set_qdisc_drop_reason(skb, QDISC_DROP_GENERIC);
	return skb;
}

u8 replay_packet_ds(const struct sk_buff *skb)
{
	if (vlan_get_protocol(skb) == htons(ETH_P_IPV6))
		return ipv6_get_dsfield(ipv6_hdr(skb));
	return ip_hdr(skb)->tos;
}

/* Returns true if the checksum or length in the IP header is wrong after the qdisc. */
bool replay_packet_damaged(const struct sk_buff *skb)
{
	unsigned int ip_len = skb_tail_pointer(skb) - skb_network_header(skb);

	if (vlan_get_protocol(skb) == htons(ETH_P_IPV6))
		return ntohs(ipv6_hdr(skb)->payload_len) + sizeof(struct ipv6hdr) != ip_len;
	return ntohs(ip_hdr(skb)->tot_len) != ip_len ||
	       ip_fast_csum(ip_hdr(skb), ip_hdr(skb)->ihl) != 0;
}
