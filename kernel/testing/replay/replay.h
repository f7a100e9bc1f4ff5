/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data written to and read from /proc/gentle_replay, in the byte order of the
 * machine, and declarations that the files of this module share.
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

#define REPLAY_TIMESTAMPS	1	/* a TCP timestamps option */
#define REPLAY_OTHER_OPTION	2	/* a TCP option for experiments */
#define REPLAY_SACK_MAX		3

struct replay_request {
	__u64 at;		/* nanoseconds since REPLAY_BEGIN */
	__u8 op;
	__u8 version;		/* of IP: 4 or 6 */
	__u8 protocol;		/* IPPROTO_*; anything but TCP is sent as UDP is: ports, no flags */
	__u8 tcp_flags;		/* byte 13 of the TCP header */
	__u8 ds;		/* DS field of the IP header, ECN bits included */
	__u8 tags;		/* REPLAY_TAG_* */
	__u8 tcp_options;	/* REPLAY_TIMESTAMPS, REPLAY_OTHER_OPTION */
	__u8 sack_count;	/* SACK blocks of the TCP header, up to REPLAY_SACK_MAX */
	__u32 number;		/* of the packet, for the events */
	__u32 flow;		/* 24 bits; source address and port distinguish flows */
	__u32 bytes;		/* of the whole frame, without a tag in skb->vlan_tci */
	__u32 hash;		/* what skb_get_hash() and skb_get_hash_perturb() return for this packet */
	__u32 truesize;		/* memory charged for it; 0: what it occupies */
	/* What flow_hash_from_keys() returns for the source alone and for the destination alone, as cake asks. */
	__u32 source_hash;
	__u32 destination_hash;
	__u32 ack;		/* of the TCP header */
	__u32 timestamps[2];	/* value and echo */
	__u32 sack[REPLAY_SACK_MAX][2];
};

enum replay_kind {
	REPLAY_BEGUN,		/* the clock showed @backlog nanoseconds at REPLAY_BEGIN */
	REPLAY_DROPPED,		/* @number was freed by the qdisc, @reason says why (enum qdisc_drop_reason) */
	REPLAY_SENT,		/* @number was dequeued, @ds is what its header says */
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
	__u8 ds;
	__u8 damaged;		/* the packet sent is not the one that was queued, but for its DS field */
	__u8 zero;
};

struct sk_buff *replay_packet(struct net_device *dev, const struct replay_request *request);
bool replay_packet_damaged(const struct sk_buff *skb);
u8 replay_packet_ds(const struct sk_buff *skb);

/* Hashes and random numbers from the schedule. */
int replay_redirect(void);
void replay_restore(void);
void replay_seed(u64 seed, u32 skip);
/* Hashes of flows and hosts come from @request, until the next one. */
void replay_hashes(const struct replay_request *request);
/* Between these two, the qdisc gets the given inputs. */
void replay_enter(void);
void replay_leave(void);

#endif
