/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of the TCP flags SYN and FIN a packet carries. */
#ifndef GENTLE_HANDSHAKE_H
#define GENTLE_HANDSHAKE_H

#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ipv6.h>

/* As in the TCP header. */
#define HANDSHAKE_FIN	BIT(0)
#define HANDSHAKE_SYN	BIT(1)

/* Which byte of the TCP header the flags are. */
#define HANDSHAKE_TCP_FLAGS	13

/* The first byte of an IPv4 header without options. */
#define HANDSHAKE_IPV4_PLAIN	0x45

/* Tags inside the frame; one more may travel in skb->vlan_tci. */
#define HANDSHAKE_MAX_VLANS	2

/* RFC 8200, section 4.1, lists six before an upper layer, and allows the
 * destination options twice. A sender can chain thousands.
 */
#define HANDSHAKE_MAX_EXTENSIONS	8

/* Where TCP begins, or a negative value if this is not the head of a TCP
 * segment over IPv4. Later fragments have no TCP header. A length of zero is
 * that of a packet beyond 64 KiB (BIG TCP); what lies behind a length that has
 * no room for TCP is padding of the link.
 */
static inline int handshake_tcp_ipv4(const struct sk_buff *skb, int offset)
{
	const struct iphdr *ip;
	struct iphdr copy;
	unsigned int head, total;

	ip = skb_header_pointer(skb, offset, sizeof(copy), &copy);
	if (!ip || ip->version != 4 || ip->ihl < 5 ||
	    ip->protocol != IPPROTO_TCP || (ip->frag_off & htons(IP_OFFSET)))
		return -1;

	head = ip->ihl * 4;
	total = ntohs(ip->tot_len);
	if (total && total < head + sizeof(struct tcphdr))
		return -1;
	return offset + head;
}

/* The same over IPv6. */
static inline int handshake_tcp_ipv6(const struct sk_buff *skb, int offset)
{
	const struct ipv6hdr *ip;
	struct ipv6hdr copy;
	int start = offset, end, i;
	u8 next;

	ip = skb_header_pointer(skb, offset, sizeof(copy), &copy);
	if (!ip || ip->version != 6)
		return -1;

	next = ip->nexthdr;
	end = ntohs(ip->payload_len);
	offset += sizeof(*ip);

	for (i = 0; i < HANDSHAKE_MAX_EXTENSIONS && ipv6_ext_hdr(next); i++) {
		const struct ipv6_opt_hdr *extension;
		struct frag_hdr extension_copy;

		if (next == NEXTHDR_NONE)
			return -1;
		/* Every extension has at least the eight bytes of a fragment's. */
		extension = skb_header_pointer(skb, offset,
					       sizeof(extension_copy),
					       &extension_copy);
		if (!extension)
			return -1;
		switch (next) {
		case NEXTHDR_FRAGMENT: {
			const struct frag_hdr *fragment = (const void *)extension;

			if (fragment->frag_off & htons(IP6_OFFSET))
				return -1;
			offset += sizeof(*fragment);
			break;
		}
		case NEXTHDR_AUTH:
			offset += ipv6_authlen(extension);
			break;
		default:
			offset += ipv6_optlen(extension);
		}
		next = extension->nexthdr;
	}
	if (next != NEXTHDR_TCP)
		return -1;

	end += start + sizeof(*ip);
	if (ip->payload_len && end < offset + (int)sizeof(struct tcphdr))
		return -1;
	return offset;
}

/* Looks behind whatever carries the segment. */
static noinline u8 handshake_flags_behind(const struct sk_buff *skb)
{
	int offset = skb_network_offset(skb);
	__be16 protocol = skb->protocol;
	const struct tcphdr *tcp;
	struct tcphdr tcp_copy;
	u8 flags = 0;

	/* Depending on who built the frame, the network header is at the first
	 * tag or behind the last: only the link-layer header tells.
	 */
	if (eth_type_vlan(protocol)) {
		int i;

		if (skb_mac_header_was_set(skb))
			offset = skb_mac_offset(skb) + ETH_HLEN;
		for (i = 0; i < HANDSHAKE_MAX_VLANS && eth_type_vlan(protocol);
		     i++) {
			const struct vlan_hdr *tag;
			struct vlan_hdr tag_copy;

			tag = skb_header_pointer(skb, offset, sizeof(tag_copy),
						 &tag_copy);
			if (!tag)
				return 0;
			protocol = tag->h_vlan_encapsulated_proto;
			offset += VLAN_HLEN;
		}
	}

	switch (protocol) {
	case htons(ETH_P_IP):
		offset = handshake_tcp_ipv4(skb, offset);
		break;
	case htons(ETH_P_IPV6):
		offset = handshake_tcp_ipv6(skb, offset);
		break;
	default:
		return 0;
	}
	if (offset < 0)
		return 0;

	tcp = skb_header_pointer(skb, offset, sizeof(tcp_copy), &tcp_copy);
	if (!tcp)
		return 0;
	if (tcp->syn)
		flags |= HANDSHAKE_SYN;
	if (tcp->fin)
		flags |= HANDSHAKE_FIN;
	return flags;
}

/**
 * handshake_flags - the handshake flags of a packet
 * @skb: a packet as a qdisc gets it: skb->data is its link-layer header
 *
 * Return: HANDSHAKE_SYN and HANDSHAKE_FIN as the TCP header has them, zero for
 * anything that is not the head of a TCP segment over IPv4 or IPv6, directly or
 * behind VLAN tags. Of a tunnel only the outer headers count.
 *
 * Nothing is changed or pulled: headers outside the linear part are copied to
 * the stack. A GSO packet stands for segments that are cut after the qdisc; SYN
 * is never among them, and FIN is for the last segment alone. Its length, in
 * qdisc_pkt_len(), is that of all of them, so a limit on the length of handshake
 * packets makes data of it.
 */
static inline u8 handshake_flags(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	const u8 *tcp = (const u8 *)(ip + 1);

	/* What nearly all packets are: IPv4 without options, in one piece. */
	if (unlikely(skb->protocol != htons(ETH_P_IP) ||
		     (int)skb_headlen(skb) - skb_network_offset(skb) <
			(int)(sizeof(*ip) + sizeof(struct tcphdr)) ||
		     *(const u8 *)ip != HANDSHAKE_IPV4_PLAIN))
		return handshake_flags_behind(skb);

	if (ip->protocol != IPPROTO_TCP || (ip->frag_off & htons(IP_OFFSET)))
		return 0;
	if (ip->tot_len &&
	    ntohs(ip->tot_len) < sizeof(*ip) + sizeof(struct tcphdr))
		return 0;
	return tcp[HANDSHAKE_TCP_FLAGS] & (HANDSHAKE_FIN | HANDSHAKE_SYN);
}

#endif
