/* SPDX-License-Identifier: GPL-2.0-only */
/* SYN and FIN flags and length of a packet. */
#ifndef GENTLE_HANDSHAKE_H
#define GENTLE_HANDSHAKE_H

#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mpls.h>
#include <linux/ppp_defs.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ipv6.h>

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
#define HANDSHAKE_NO_MAXLEN	U32_MAX

/* Header of a PPPoE session (RFC 2516, section 4) and the protocol field of PPP
 * after it; the code of a session is 0.
 */
#define HANDSHAKE_PPPOE_CODE		1
#define HANDSHAKE_PPPOE_PROTOCOL	6
#define HANDSHAKE_PPPOE_LEN		8

/* Maximum number of headers between link layer and IP: VLAN tags in the frame
 * (one more may be in skb->vlan_tci), a PPPoE session, MPLS labels. Provider
 * networks stack two or three.
 */
#define HANDSHAKE_MAX_ENCAPS	8

/* RFC 8200, section 4.1, lists six before an upper layer, and allows the
 * destination options twice. A sender can chain thousands.
 */
#define HANDSHAKE_MAX_EXTENSIONS	8

/* Offset of the TCP header, or a negative value if this is not the head of a
 * TCP segment over IPv4. Later fragments have no TCP header. A length of zero
 * means a packet beyond 64 KiB (BIG TCP); bytes beyond a length that is too
 * short for TCP are padding of the link.
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

/* As handshake_tcp_ipv4(), for a TCP segment over IPv6. */
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
		/* Extension headers have at least eight bytes. */
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

/* EtherType after the VLAN tag at *offset, which advances past it; 0: none. */
static inline __be16 handshake_vlan(const struct sk_buff *skb, int *offset)
{
	const struct vlan_hdr *tag;
	struct vlan_hdr copy;

	tag = skb_header_pointer(skb, *offset, sizeof(copy), &copy);
	*offset += VLAN_HLEN;
	return tag ? tag->h_vlan_encapsulated_proto : 0;
}

/* EtherType after the PPPoE header at *offset, which advances past it. */
static inline __be16 handshake_pppoe(const struct sk_buff *skb, int *offset)
{
	u8 copy[HANDSHAKE_PPPOE_LEN];
	const u8 *header;

	header = skb_header_pointer(skb, *offset, sizeof(copy), copy);
	*offset += sizeof(copy);
	if (!header || header[HANDSHAKE_PPPOE_CODE])
		return 0;
	switch (get_unaligned_be16(header + HANDSHAKE_PPPOE_PROTOCOL)) {
	case PPP_IP:
		return htons(ETH_P_IP);
	case PPP_IPV6:
		return htons(ETH_P_IPV6);
	default:
		return 0;
	}
}

/* EtherType after the MPLS label at *offset (RFC 3032, section 2.1), which
 * advances past it. After the last label the IP version identifies the payload;
 * pseudowires have neither 4 nor 6 there (RFC 4385, section 3).
 */
static inline __be16 handshake_mpls(const struct sk_buff *skb, int *offset,
				    __be16 protocol)
{
	const __be32 *label;
	const u8 *version;
	__be32 copy;
	u8 byte;

	label = skb_header_pointer(skb, *offset, sizeof(copy), &copy);
	*offset += sizeof(copy);
	if (!label)
		return 0;
	if (!(*label & htonl(MPLS_LS_S_MASK)))
		return protocol;
	version = skb_header_pointer(skb, *offset, sizeof(byte), &byte);
	switch (version ? *version >> 4 : 0) {
	case 4:
		return htons(ETH_P_IP);
	case 6:
		return htons(ETH_P_IPV6);
	default:
		return 0;
	}
}

/* EtherType of the IP packet in the frame; *offset is set to its start. */
static inline __be16 handshake_ip(const struct sk_buff *skb, int *offset)
{
	__be16 protocol = skb->protocol;
	int i;

	/* Depending on who built the frame, the network header is at the first
	 * tag or behind the last: only the link-layer header tells.
	 */
	*offset = skb_network_offset(skb);
	if (eth_type_vlan(protocol) && skb_mac_header_was_set(skb))
		*offset = skb_mac_offset(skb) + ETH_HLEN;

	for (i = 0; i < HANDSHAKE_MAX_ENCAPS; i++) {
		switch (protocol) {
		case htons(ETH_P_8021Q):
		case htons(ETH_P_8021AD):
			protocol = handshake_vlan(skb, offset);
			break;
		case htons(ETH_P_PPP_SES):
			protocol = handshake_pppoe(skb, offset);
			break;
		case htons(ETH_P_MPLS_UC):
		case htons(ETH_P_MPLS_MC):
			protocol = handshake_mpls(skb, offset, protocol);
			break;
		default:
			return protocol;
		}
	}
	return protocol;
}

/* Skips encapsulations and returns the flags of the TCP segment. */
static noinline u8 handshake_flags_behind(const struct sk_buff *skb,
					  unsigned int *len)
{
	const struct tcphdr *tcp;
	struct tcphdr tcp_copy;
	int offset;
	u8 flags = 0;

	switch (handshake_ip(skb, &offset)) {
	case htons(ETH_P_IP):
		*len = skb->len - offset;
		offset = handshake_tcp_ipv4(skb, offset);
		break;
	case htons(ETH_P_IPV6):
		*len = skb->len - offset;
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
 * @skb: a packet as passed to a qdisc: skb->data is its link-layer header
 * @len: set to the length of the IP packet if flags are returned
 *
 * Return: HANDSHAKE_SYN and HANDSHAKE_FIN as in the TCP header, zero for a
 * packet that is not the head of a TCP segment over IPv4 or IPv6, directly or
 * after VLAN tags, a PPPoE session or MPLS labels. For tunnels only the outer
 * headers are inspected.
 *
 * The length counts the bytes from the IP header to the end of the frame.
 * Unlike qdisc_pkt_len() it includes neither the link-layer header nor the
 * additions of a size table (tc-stab). Padding of the link counts, and so do
 * bytes beyond the length field of the IP header, which a sender could
 * understate.
 *
 * A GSO packet is segmented after the qdisc. It never contains a SYN, and FIN
 * belongs to its last segment only, so it has no flags here.
 *
 * The packet is not modified: headers outside the linear part are copied to the
 * stack.
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
		flags = handshake_flags_behind(skb, len);
	} else {
		if (ip->protocol != IPPROTO_TCP ||
		    (ip->frag_off & htons(IP_OFFSET)))
			return 0;
		if (ip->tot_len &&
		    ntohs(ip->tot_len) < sizeof(*ip) + sizeof(struct tcphdr))
			return 0;
		flags = tcp[HANDSHAKE_TCP_FLAGS] &
			(HANDSHAKE_FIN | HANDSHAKE_SYN);
		if (unlikely(flags))
			*len = skb->len - skb_network_offset(skb);
	}
	return unlikely(flags) && skb_is_gso(skb) ? 0 : flags;
}

#endif
