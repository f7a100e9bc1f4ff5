/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* Options and statistics of the qdisc spa on netlink.
 *
 * All integers are in host byte order, times in microseconds. New attributes go
 * to the end of their list.
 */
#ifndef _PKT_SCH_SPA_H
#define _PKT_SCH_SPA_H

#include <linux/types.h>

/* Attributes in TCA_OPTIONS. Absent options keep their value; in a new qdisc
 * they have their default.
 */
enum {
	TCA_SPA_UNSPEC,
	TCA_SPA_TARGET,		/* u32, acceptable standing delay */
	TCA_SPA_INTERVAL,	/* u32, time above target before the first drop */
	TCA_SPA_LIMIT,		/* u32, packets in each queue */
	TCA_SPA_ECN,		/* u8, 1: mark instead of dropping */
	TCA_SPA_CE_THRESHOLD,	/* u32, delay above which all are marked */
	TCA_SPA_FIN,		/* u8, TC_SPA_FIN_... */
	TCA_SPA_MAXLEN,		/* u32, IP length of the longest handshake packet */
	TCA_SPA_HELD,		/* u32, FINs kept that the data queue dropped */
	TCA_SPA_SHARE,		/* u8, percent of the bytes, under load */
	TCA_SPA_MEMORY,		/* u32, bytes of buffers for each queue */
	__TCA_SPA_MAX
};

#define TCA_SPA_MAX	(__TCA_SPA_MAX - 1)

/* Maximum of TCA_SPA_TARGET, TCA_SPA_INTERVAL, TCA_SPA_CE_THRESHOLD: CoDel's
 * clock counts units of 1024 ns in 31 bits.
 */
#define TC_SPA_TIME_MAX	2199023254U

/* Minimum of TCA_SPA_INTERVAL: one unit of CoDel's clock. */
#define TC_SPA_INTERVAL_MIN	2

#define TC_SPA_LIMIT_MAX	1000000

/* TCA_SPA_CE_THRESHOLD: no threshold. Never dumped. */
#define TC_SPA_CE_THRESHOLD_OFF	0xffffffffU

#define TC_SPA_MAXLEN_MAX	65535
#define TC_SPA_HELD_MAX		100000

/* TCA_SPA_FIN */
enum {
	TC_SPA_FIN_INORDER,	/* stays behind its data, and is not dropped */
	TC_SPA_FIN_PRIORITY,	/* is served first */
	TC_SPA_FIN_NONE,	/* is data */
	__TC_SPA_FIN_MAX
};

#define TC_SPA_FIN_MAX	(__TC_SPA_FIN_MAX - 1)

/* The classes. */
enum {
	TC_SPA_CLASS_PRIORITY = 1,
	TC_SPA_CLASS_DATA = 2,
};

/* Statistics in TCA_STATS_APP: all attributes for the qdisc, its queue for a
 * class.
 */
enum {
	TCA_SPA_XSTATS_UNSPEC,
	TCA_SPA_XSTATS_PAD,
	TCA_SPA_XSTATS_PRIORITY,	/* nest, TCA_SPA_QUEUE_... */
	TCA_SPA_XSTATS_DATA,		/* nest, TCA_SPA_QUEUE_... */
	TCA_SPA_XSTATS_SYN,		/* u64, SYNs that the priority queue took */
	TCA_SPA_XSTATS_FIN_FIRST,	/* u64, FINs that the priority queue took */
	TCA_SPA_XSTATS_FIN_KEPT,	/* u64, FINs kept that the data queue dropped */
	TCA_SPA_XSTATS_FIN_OVERLIMIT,	/* u64, FINs dropped: no room to keep them */
	TCA_SPA_XSTATS_DROP_FOR_FIN,	/* u64, packets dropped in place of a FIN */
	TCA_SPA_XSTATS_MARK_FOR_FIN,	/* u64, packets marked in place of a FIN */
	TCA_SPA_XSTATS_TOOLONG,		/* u64, SYNs and FINs above maxlen: data */
	TCA_SPA_XSTATS_HELD_BACK,	/* u64, data sent before waiting priority */
	TCA_SPA_XSTATS_CREDIT,		/* s64, of the priority queue, bytes x 100 */
	TCA_SPA_XSTATS_HELD,		/* u32, packets kept now */
	TCA_SPA_XSTATS_HELD_BACKLOG,	/* u32, their bytes */
	__TCA_SPA_XSTATS_MAX
};

#define TCA_SPA_XSTATS_MAX	(__TCA_SPA_XSTATS_MAX - 1)

/* Statistics of one queue. The attributes from MAXPACKET on are CoDel's and
 * absent if the queue is a child qdisc. DROP_NEXT is present in the dropping
 * state only.
 */
enum {
	TCA_SPA_QUEUE_UNSPEC,
	TCA_SPA_QUEUE_PAD,
	TCA_SPA_QUEUE_ENQUEUED,		/* u64, packets taken */
	TCA_SPA_QUEUE_SENT,		/* u64, packets sent */
	TCA_SPA_QUEUE_SENT_BYTES,	/* u64, their bytes */
	TCA_SPA_QUEUE_DROP_LIMIT,	/* u64, refused: the queue was full */
	TCA_SPA_QUEUE_DROP_MEMORY,	/* u64, refused: no memory was left to it */
	TCA_SPA_QUEUE_DROP_CHILD,	/* u64, refused by the child */
	TCA_SPA_QUEUE_DROP_CHANGE,	/* u64, lost to a change of options, child, link */
	TCA_SPA_QUEUE_DROP_CODEL,	/* u64, dropped by CoDel at departure */
	TCA_SPA_QUEUE_QLEN,		/* u32, packets queued */
	TCA_SPA_QUEUE_BACKLOG,		/* u32, bytes queued */
	TCA_SPA_QUEUE_MEMORY,		/* u32, bytes of buffers in use */
	TCA_SPA_QUEUE_MAXPACKET,	/* u32, largest packet seen */
	TCA_SPA_QUEUE_COUNT,		/* u32, drops of CoDel since it began to drop */
	TCA_SPA_QUEUE_LASTCOUNT,	/* u32, count when it last began */
	TCA_SPA_QUEUE_LDELAY,		/* u32, delay of the last packet */
	TCA_SPA_QUEUE_DROP_NEXT,	/* s32, time until the next drop */
	TCA_SPA_QUEUE_ECN_MARK,		/* u32, packets marked instead of dropped */
	TCA_SPA_QUEUE_CE_MARK,		/* u32, packets marked for ce_threshold */
	__TCA_SPA_QUEUE_MAX
};

#define TCA_SPA_QUEUE_MAX	(__TCA_SPA_QUEUE_MAX - 1)

#endif
