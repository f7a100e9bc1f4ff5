/* SPDX-License-Identifier: GPL-2.0-only */
/* SYN and FIN flags and length of a packet. */
#ifndef GENTLE_HANDSHAKE_H
#define GENTLE_HANDSHAKE_H

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/flow_dissector.h>
#include <net/ip.h>

/* As in the TCP header. */
#define HANDSHAKE_FIN	BIT(0)
#define HANDSHAKE_SYN	BIT(1)

/* Offset of the flags in the TCP header. */
#define HANDSHAKE_TCP_FLAGS	13

/* First byte of an IPv4 header without options. */
#define HANDSHAKE_IPV4_PLAIN	0x45

/* Default length of an IP packet above which a SYN or FIN counts as data. The
 * longest SYN without data has 120 bytes: an IPv4 header of 60 bytes with
 * options (or IPv6 and 20 bytes of extensions) and a TCP header of 60 bytes
 * with options. 127 is the next length that a tc filter can compare with a
 * single mask.
 */
#define HANDSHAKE_MAXLEN	127
#define HANDSHAKE_MAXLEN_MAX	65535

/* Fields of a packet that the flow dissector reads. */
struct handshake_keys {
	struct flow_dissector_key_control control;
	struct flow_dissector_key_basic basic;
	struct flow_dissector_key_tcp tcp;
};

static struct flow_dissector handshake_dissector;

/* Has to be called before the first packet. */
static inline void handshake_init(void)
{
	static const struct flow_dissector_key keys[] = {
		{ FLOW_DISSECTOR_KEY_CONTROL,
		  offsetof(struct handshake_keys, control) },
		{ FLOW_DISSECTOR_KEY_BASIC,
		  offsetof(struct handshake_keys, basic) },
		{ FLOW_DISSECTOR_KEY_TCP,
		  offsetof(struct handshake_keys, tcp) },
	};

	skb_flow_dissector_init(&handshake_dissector, keys, ARRAY_SIZE(keys));
}

/* Flags of a TCP segment behind IPv4 options, IPv6 extension headers, VLAN tags
 * or a PPPoE session. IP options and extensions are not part of *len.
 */
static noinline u8 handshake_dissect(const struct sk_buff *skb,
				     unsigned int *len)
{
	struct handshake_keys keys = {};
	int offset = skb_network_offset(skb);

	/* The network header of a frame with tags may be at the first tag or
	 * behind the last: only the link-layer header is certain.
	 */
	if (eth_type_vlan(skb->protocol) && skb_mac_header_was_set(skb))
		offset = skb_mac_offset(skb) + ETH_HLEN;

	if (!__skb_flow_dissect(NULL, skb, &handshake_dissector, &keys,
				skb->data, skb->protocol, offset,
				skb_headlen(skb),
				FLOW_DISSECTOR_F_PARSE_1ST_FRAG |
				FLOW_DISSECTOR_F_STOP_AT_ENCAP))
		return 0;
	*len = skb->len - keys.control.thoff;
	*len += keys.basic.n_proto == htons(ETH_P_IP) ? sizeof(struct iphdr) :
							sizeof(struct ipv6hdr);
	return ntohs(keys.tcp.flags) & (HANDSHAKE_FIN | HANDSHAKE_SYN);
}

/**
 * handshake_flags - the handshake flags of a packet
 * @skb: a packet as passed to a qdisc: skb->data is its link-layer header
 * @len: set to the length of the IP packet if flags are returned
 *
 * Return: HANDSHAKE_SYN and HANDSHAKE_FIN as in the TCP header, zero for a
 * packet that is not the head of a TCP segment over IPv4 or IPv6, directly or
 * after VLAN tags or a PPPoE session. Of tunnels the outer headers are read.
 *
 * The length counts the bytes to the end of the frame. Unlike qdisc_pkt_len()
 * it includes neither the link-layer header nor the additions of a size table
 * (tc-stab). Bytes beyond the length field of the IP header count, which a
 * sender could understate.
 *
 * A GSO packet is segmented after the qdisc. It never contains a SYN, and FIN
 * belongs to its last segment only, so it has no flags here.
 */
static inline u8 handshake_flags(const struct sk_buff *skb, unsigned int *len)
{
	const struct iphdr *ip = ip_hdr(skb);
	const u8 *tcp = (const u8 *)(ip + 1);
	u8 flags;

	/* Fast path: IPv4 without options, in the linear part. */
	if (unlikely(skb->protocol != htons(ETH_P_IP) ||
		     (int)skb_headlen(skb) - skb_network_offset(skb) <
			(int)(sizeof(*ip) + sizeof(struct tcphdr)) ||
		     *(const u8 *)ip != HANDSHAKE_IPV4_PLAIN)) {
		flags = handshake_dissect(skb, len);
	} else {
		if (ip->protocol != IPPROTO_TCP ||
		    (ip->frag_off & htons(IP_OFFSET)))
			return 0;
		flags = tcp[HANDSHAKE_TCP_FLAGS] &
			(HANDSHAKE_FIN | HANDSHAKE_SYN);
		if (unlikely(flags))
			*len = skb->len - skb_network_offset(skb);
	}
	return unlikely(flags) && skb_is_gso(skb) ? 0 : flags;
}

#endif
