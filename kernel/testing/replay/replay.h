/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is written to and read from /proc/gentle_replay, all in the byte order of the machine, and what the files of
 * this module share.
 */
#ifndef GENTLE_REPLAY_H
#define GENTLE_REPLAY_H

#include <linux/types.h>

struct net_device;
struct sk_buff;

enum replay_op {
	/* Forgets all events and starts the clock of the schedule, see replay_begin(). Wants no further field. */
	REPLAY_BEGIN,
	/* Seeds the random numbers of the qdisc with @at; the first @number of them are thrown away. */
	REPLAY_SEED,
	/* Offers a packet to the qdisc at the root of the device. */
	REPLAY_ENQUEUE,
	/* Takes a packet from it. */
	REPLAY_DEQUEUE,
	/* Looks at the next packet, then takes it, as a shaper above the qdisc does. */
	REPLAY_PEEK,
};

#define REPLAY_TAG_ACCELERATED	1	/* a VLAN tag in skb->vlan_tci, as after dev_queue_xmit() on a VLAN device */
#define REPLAY_TAG_IN_LINE	2	/* a VLAN tag in the packet */

struct replay_request {
	__u64 at;		/* nanoseconds since REPLAY_BEGIN */
	__u8 op;
	__u8 version;		/* of IP: 4 or 6 */
	__u8 protocol;		/* IPPROTO_*; anything but TCP is sent as UDP is: ports, no flags */
	__u8 tcp_flags;		/* byte 13 of the TCP header */
	__u8 ecn;		/* the two bits of the IP header */
	__u8 tags;		/* REPLAY_TAG_* */
	__u8 dscp;		/* the other six bits of the DS field */
	__u8 zero;
	__u32 number;		/* of the packet, for the events */
	__u32 flow;		/* 24 bits; source address and port tell flows apart */
	__u32 bytes;		/* of the whole frame, without a tag in skb->vlan_tci */
	__u32 hash;		/* what skb_get_hash() and skb_get_hash_perturb() return for this packet */
	__u32 truesize;		/* memory charged for it; 0: what it occupies */
	__u32 zero2;
};

enum replay_kind {
	REPLAY_BEGUN,		/* the clock showed @backlog nanoseconds at REPLAY_BEGIN */
	REPLAY_DROPPED,		/* @number was freed by the qdisc, @reason says why (enum qdisc_drop_reason) */
	REPLAY_SENT,		/* @number was dequeued, @ecn is what its header says */
	REPLAY_DONE,		/* end of a request: @value is what enqueue returned, @number packets are queued */
	REPLAY_TIMER,		/* a high-resolution timer of the qdisc expires @backlog nanoseconds after REPLAY_BEGIN */
};

struct replay_event {
	__u64 at;		/* nanoseconds since REPLAY_BEGIN, by the kernel's clock */
	__u64 backlog;
	__u32 number;
	__s32 value;
	__u32 reason;
	__u8 kind;
	__u8 ecn;
	__u8 damaged;		/* the packet sent is not the one that was queued, but for its ECN bits */
	__u8 zero;
};

struct sk_buff *replay_packet(struct net_device *dev, const struct replay_request *request);
bool replay_packet_damaged(const struct sk_buff *skb);
u8 replay_packet_ecn(const struct sk_buff *skb);

int replay_random_redirect(void);
void replay_random_restore(void);
void replay_random_seed(u64 seed, u32 skip);
/* Between these two, random numbers are those of the seed. */
void replay_random_enter(void);
void replay_random_leave(void);

#endif
