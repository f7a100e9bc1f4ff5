// SPDX-License-Identifier: GPL-2.0-only
/* SPA: priority for handshake packets over two queues managed by CoDel.
 *
 * Braud, Heusse, Duda: The Virtue of Gentleness: Improving Connection Response
 * Times with SYN Priority Active Queue Management. IFIP Networking 2018.
 *
 * Class 1 is the priority queue: SYNs and SYN/ACKs, and FINs with fin priority.
 * Class 2 has all other packets. Each is a built-in FIFO under CoDel unless a
 * qdisc is grafted in its place.
 *
 * A FIN with priority overtakes data of its own connection; the receiver then
 * reports a gap with SACK, and the sender takes the data for lost. By default
 * (fin inorder) a FIN therefore queues with the data but is not lost there:
 *
 *  - a FIN that CoDel drops is sent nevertheless, and the packet that CoDel
 *    would have sent is marked or, if not ECN-capable, dropped in its place;
 *  - a FIN that finds the queue full is held until all packets queued before it
 *    have left. The queue is a FIFO, so this is the case when the packet at its
 *    head arrived later than the FIN: one comparison, no counting.
 *
 * Both are kept outside the data queue, in lists linked through the packets.
 * Packets that a child in place of the data queue drops on dequeue are lost,
 * including FINs. Only FINs that it refuses on enqueue are held, until as many
 * packets have left the child as it had; if the child is no FIFO, this may be
 * earlier or later than strict order requires.
 *
 * The share of bytes that the priority queue may send while data waits is
 * limited, against floods of SYNs: see spa_take_data_first().
 */

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "compat.h"
#include "handshake.h"
#include "pkt_sch_spa.h"
#include "share.h"

#define SPA_TARGET	5000		/* us, as codel */
#define SPA_INTERVAL	100000		/* us, as codel */
#define SPA_LIMIT	1000		/* packets, as codel */
#define SPA_MEMORY	(32 << 20)	/* bytes, as fq_codel */
#define SPA_HELD	1000		/* packets, as limit */

enum spa_band {
	SPA_PRIORITY,
	SPA_DATA,
	SPA_BANDS
};

enum spa_kind {
	SPA_KIND_SYN,
	SPA_KIND_FIN_FIRST,
	SPA_KIND_FIN,		/* a FIN in the data queue */
	SPA_KIND_DATA,
};

/* Control block of a queued packet. */
struct spa_skb_cb {
	union {
		u64	arrived;	/* ns */
		u32	ticket;		/* of a FIN that a child refused: what
					 * the child had taken by then
					 */
	};
	u32	mem;	/* skb->truesize, should that change on the way */
	bool	fin;	/* not to be lost with fin inorder */
};

/**
 * struct spa_queue - one of the two queues
 * @sch: the qdisc
 * @child: qdisc in place of this queue, or NULL
 * @list: the packets, oldest first; empty with a child
 * @backlog: bytes in @list
 * @mem: bytes of memory of @list; of the data queue, also of @ready and @held of
 *	spa_sched_data
 * @taken: packets that @child accepted, modulo 2^32
 * @vars: CoDel's state
 * @cstats: CoDel's counters
 * @bstats: packets and bytes sent
 * @enqueued: packets accepted
 * @drop_limit: packets refused, queue full
 * @drop_memory: packets refused, memory exhausted
 * @drop_child: packets refused by @child
 * @drop_change: packets lost to a change of options or of @child, or a reset
 * @drop_codel: packets dropped by CoDel
 */
struct spa_queue {
	struct Qdisc			*sch;
	struct Qdisc			*child;
	struct qdisc_skb_head		list;
	u32				backlog;
	u32				mem;
	u32				taken;
	struct codel_vars		vars;
	struct codel_stats		cstats;
	struct gnet_stats_basic_sync	bstats;
	u64				enqueued;
	u64				drop_limit;
	u64				drop_memory;
	u64				drop_child;
	u64				drop_change;
	u64				drop_codel;
};

/**
 * struct spa_sched_data - private data of the qdisc
 * @params: CoDel's options, for both queues
 * @target: target of @params in microseconds, as set
 * @interval: interval of @params in microseconds, as set
 * @ce_threshold: ce_threshold of @params in microseconds, as set;
 *	TC_SPA_CE_THRESHOLD_OFF: none
 * @limit: packets in each queue
 * @memory: bytes of memory for each queue
 * @maxlen: IP length above which a handshake packet is data;
 *	HANDSHAKE_NO_MAXLEN: no limit
 * @max_held: packets in @ready and @held
 * @fin: TC_SPA_FIN_...
 * @fin_kept_now: CoDel dropped a FIN in this dequeue, which is in @ready now
 * @queue: the queues
 * @ready: packets that have left the data queue and are sent next: FINs that
 *	CoDel dropped, and packets marked in their place
 * @held: FINs that the data queue refused, which wait for the packets queued
 *	before them
 * @kept_backlog: bytes in @ready and @held
 * @share: credit of the priority queue while data waits
 * @drop_count: packets dropped in this dequeue
 * @drop_len: bytes of the packets dropped in this dequeue
 * @syn: SYNs accepted by the priority queue
 * @fin_first: FINs accepted by the priority queue
 * @fin_kept: FINs kept after the data queue dropped them
 * @fin_overlimit: FINs dropped because of @max_held or the memory limit
 * @drop_for_fin: packets dropped in place of FINs that CoDel dropped
 * @mark_for_fin: packets marked in place of FINs that CoDel dropped
 * @toolong: handshake packets longer than @maxlen
 * @held_back: data packets sent while priority packets waited
 */
struct spa_sched_data {
	struct codel_params	params;
	u32			target;
	u32			interval;
	u32			ce_threshold;
	u32			limit;
	u32			memory;
	u32			maxlen;
	u32			max_held;
	u8			fin;
	bool			fin_kept_now;

	struct spa_queue	queue[SPA_BANDS];
	struct qdisc_skb_head	ready;
	struct qdisc_skb_head	held;
	u32			kept_backlog;
	struct share		share;

	u32			drop_count;
	u32			drop_len;

	u64			syn;
	u64			fin_first;
	u64			fin_kept;
	u64			fin_overlimit;
	u64			drop_for_fin;
	u64			mark_for_fin;
	u64			toolong;
	u64			held_back;
};

static struct spa_skb_cb *spa_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct spa_skb_cb));
	return (struct spa_skb_cb *)qdisc_skb_cb(skb)->data;
}

static void spa_count(struct Qdisc *sch, int packets, int bytes)
{
	WRITE_ONCE(sch->q.qlen, sch->q.qlen + packets);
	WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog + bytes);
}

static u32 spa_queue_len(const struct spa_queue *queue)
{
	return queue->child ? qdisc_qlen(queue->child) : queue->list.qlen;
}

static u32 spa_kept(const struct spa_sched_data *q)
{
	return q->ready.qlen + q->held.qlen;
}

static bool spa_has_data(const struct spa_sched_data *q)
{
	return spa_queue_len(&q->queue[SPA_DATA]) || spa_kept(q);
}

/* Packets kept out of the data queue */

static bool spa_can_keep(const struct spa_sched_data *q, u32 mem)
{
	return spa_kept(q) < q->max_held &&
	       (u64)q->queue[SPA_DATA].mem + mem <= q->memory;
}

static void spa_keep(struct spa_sched_data *q, struct qdisc_skb_head *list,
		     struct sk_buff *skb)
{
	__qdisc_enqueue_tail(skb, list);
	q->kept_backlog += qdisc_pkt_len(skb);
	q->queue[SPA_DATA].mem += spa_cb(skb)->mem;
}

/* Returns true if all packets queued before the FIN have left. */
static bool spa_fin_is_due(const struct spa_sched_data *q,
			   const struct sk_buff *fin)
{
	const struct spa_queue *queue = &q->queue[SPA_DATA];
	const struct sk_buff *head = queue->list.head;

	if (queue->child) {
		u32 left = queue->taken - qdisc_qlen(queue->child);

		return (s32)(left - spa_cb(fin)->ticket) >= 0;
	}
	return !head || spa_cb(head)->arrived > spa_cb(fin)->arrived;
}

static noinline struct sk_buff *spa_kept_take(struct spa_sched_data *q)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&q->ready);

	if (!skb) {
		if (!q->held.head || !spa_fin_is_due(q, q->held.head))
			return NULL;
		skb = __qdisc_dequeue_head(&q->held);
	}
	q->kept_backlog -= qdisc_pkt_len(skb);
	q->queue[SPA_DATA].mem -= spa_cb(skb)->mem;
	return skb;
}

/* The next of the kept packets, or NULL if it has to wait. */
static inline struct sk_buff *spa_kept_dequeue(struct spa_sched_data *q)
{
	return unlikely(spa_kept(q)) ? spa_kept_take(q) : NULL;
}

/* No packet is queued before the held FINs any more. */
static void spa_fin_release(struct spa_sched_data *q)
{
	struct sk_buff *skb;

	while ((skb = __qdisc_dequeue_head(&q->held)))
		__qdisc_enqueue_tail(skb, &q->ready);
}

/* Enqueue */

static enum spa_kind spa_classify(struct spa_sched_data *q, u8 flags,
				  unsigned int len)
{
	if (!(flags & HANDSHAKE_SYN) &&
	    (!(flags & HANDSHAKE_FIN) || q->fin == TC_SPA_FIN_NONE))
		return SPA_KIND_DATA;

	/* A packet longer than maxlen is data despite its flags. */
	if (len > q->maxlen) {
		q->toolong++;
		return SPA_KIND_DATA;
	}
	if (flags & HANDSHAKE_SYN)
		return SPA_KIND_SYN;
	return q->fin == TC_SPA_FIN_PRIORITY ? SPA_KIND_FIN_FIRST : SPA_KIND_FIN;
}

static enum spa_band spa_band(enum spa_kind kind)
{
	return kind == SPA_KIND_SYN || kind == SPA_KIND_FIN_FIRST ? SPA_PRIORITY :
								    SPA_DATA;
}

static void spa_took(struct spa_sched_data *q, struct spa_queue *queue,
		     enum spa_kind kind)
{
	queue->enqueued++;
	if (kind == SPA_KIND_SYN)
		q->syn++;
	else if (kind == SPA_KIND_FIN_FIRST)
		q->fin_first++;
}

/* Holds a FIN that the data queue refused, behind the packets queued there. */
static int spa_hold_fin(struct Qdisc *sch, struct sk_buff *skb)
{
	struct spa_sched_data *q = qdisc_priv(sch);

	spa_count(sch, 1, qdisc_pkt_len(skb));
	spa_keep(q, &q->held, skb);
	spa_took(q, &q->queue[SPA_DATA], SPA_KIND_FIN);
	q->fin_kept++;
	return NET_XMIT_SUCCESS;
}

static __always_inline int spa_enqueue_codel(struct sk_buff *skb,
					     struct Qdisc *sch,
					     struct spa_queue *queue,
					     enum spa_kind kind,
					     struct sk_buff **to_free)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct spa_skb_cb *cb = spa_cb(skb);

	cb->arrived = ktime_get_ns();
	cb->mem = skb->truesize;
	cb->fin = kind == SPA_KIND_FIN;

	if (unlikely((u64)queue->mem + cb->mem > q->memory)) {
		queue->drop_memory++;
		return qdisc_drop_reason(skb, sch, to_free,
					 QDISC_DROP_OVERLIMIT);
	}
	if (likely(queue->list.qlen < q->limit)) {
		__qdisc_enqueue_tail(skb, &queue->list);
		queue->backlog += qdisc_pkt_len(skb);
		queue->mem += cb->mem;
		spa_count(sch, 1, qdisc_pkt_len(skb));
		spa_took(q, queue, kind);
		return NET_XMIT_SUCCESS;
	}
	if (kind == SPA_KIND_FIN) {
		if (spa_can_keep(q, cb->mem))
			return spa_hold_fin(sch, skb);
		q->fin_overlimit++;
	}
	queue->drop_limit++;
	return qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_OVERLIMIT);
}

/* Removes @skb from the packets that a child is about to free. */
static bool spa_take_back(struct sk_buff *skb, struct sk_buff **refused)
{
	for (; *refused; refused = &(*refused)->next) {
		if (*refused == skb) {
			*refused = skb->next;
			skb->next = NULL;
			return true;
		}
	}
	return false;
}

static noinline int spa_enqueue_child(struct sk_buff *skb, struct Qdisc *sch,
				      struct spa_queue *queue,
				      enum spa_kind kind,
				      struct sk_buff **to_free)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	unsigned int len = qdisc_pkt_len(skb);
	struct sk_buff *refused = NULL;
	int ret;

	ret = qdisc_enqueue(skb, queue->child, &refused);
	if (likely(ret == NET_XMIT_SUCCESS)) {
		queue->taken++;
		spa_count(sch, 1, len);
		spa_took(q, queue, kind);
	} else if (kind == SPA_KIND_FIN && spa_can_keep(q, skb->truesize) &&
		   spa_take_back(skb, &refused)) {
		struct spa_skb_cb *cb = spa_cb(skb);

		cb->ticket = queue->taken;
		cb->mem = skb->truesize;
		cb->fin = true;
		ret = spa_hold_fin(sch, skb);
	} else if (net_xmit_drop_count(ret)) {
		queue->drop_child++;
		if (kind == SPA_KIND_FIN && !spa_can_keep(q, skb->truesize))
			q->fin_overlimit++;
		qdisc_qstats_drop(sch);
	}
	while (unlikely(refused)) {
		skb = refused;
		refused = skb->next;
		__qdisc_drop(skb, to_free);
	}
	return ret;
}

static __always_inline int spa_enqueue_kind(struct sk_buff *skb,
					    struct Qdisc *sch,
					    enum spa_kind kind,
					    struct sk_buff **to_free)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct spa_queue *queue = &q->queue[spa_band(kind)];

	if (unlikely(queue->child))
		return spa_enqueue_child(skb, sch, queue, kind, to_free);
	return spa_enqueue_codel(skb, sch, queue, kind, to_free);
}

static noinline int spa_enqueue_handshake(struct sk_buff *skb,
					  struct Qdisc *sch, u8 flags,
					  unsigned int len,
					  struct sk_buff **to_free)
{
	enum spa_kind kind = spa_classify(qdisc_priv(sch), flags, len);

	return spa_enqueue_kind(skb, sch, kind, to_free);
}

/* Fast path for data, which nearly all packets are. */
static int spa_enqueue(struct sk_buff *skb, struct Qdisc *sch,
		       struct sk_buff **to_free)
{
	unsigned int len;
	u8 flags = handshake_flags(skb, &len);

	if (unlikely(flags))
		return spa_enqueue_handshake(skb, sch, flags, len, to_free);
	return spa_enqueue_kind(skb, sch, SPA_KIND_DATA, to_free);
}

/* Dequeue */

static codel_time_t spa_enqueue_time(const struct sk_buff *skb)
{
	return spa_cb(skb)->arrived >> CODEL_SHIFT;
}

static struct sk_buff *spa_codel_dequeue_func(struct codel_vars *vars,
					      void *ctx)
{
	struct spa_queue *queue = ctx;
	struct sk_buff *skb = __qdisc_dequeue_head(&queue->list);

	if (skb) {
		queue->backlog -= qdisc_pkt_len(skb);
		queue->mem -= spa_cb(skb)->mem;
	}
	return skb;
}

static void spa_drop_at_dequeue(struct Qdisc *sch, struct sk_buff *skb)
{
	struct spa_sched_data *q = qdisc_priv(sch);

	spa_count(sch, -1, -(int)qdisc_pkt_len(skb));
	q->drop_count++;
	q->drop_len += qdisc_pkt_len(skb);
	qdisc_dequeue_drop(sch, skb, QDISC_DROP_CONGESTED);
	qdisc_qstats_drop(sch);
}

static void spa_codel_drop_func(struct sk_buff *skb, void *ctx)
{
	struct spa_queue *queue = ctx;
	struct spa_sched_data *q = qdisc_priv(queue->sch);

	if (spa_cb(skb)->fin && q->fin == TC_SPA_FIN_INORDER) {
		if (spa_can_keep(q, spa_cb(skb)->mem)) {
			spa_keep(q, &q->ready, skb);
			q->fin_kept++;
			q->fin_kept_now = true;
			return;
		}
		q->fin_overlimit++;
	}
	queue->drop_codel++;
	spa_drop_at_dequeue(queue->sch, skb);
}

static noinline struct sk_buff *spa_queue_ask(struct spa_sched_data *q,
					      struct spa_queue *queue)
{
	if (queue->child)
		return qdisc_dequeue_peeked(queue->child);

	return codel_dequeue(queue, &queue->backlog, &q->params, &queue->vars,
			     &queue->cstats, qdisc_pkt_len, spa_enqueue_time,
			     spa_codel_drop_func, spa_codel_dequeue_func);
}

/* Removes the next packet of @queue, which stays counted in the qdisc. Both
 * queues are tried for every packet, so an empty queue returns early.
 */
static __always_inline struct sk_buff *
spa_queue_dequeue(struct spa_sched_data *q, struct spa_queue *queue)
{
	if (!queue->list.head && !queue->child) {
		/* As codel_dequeue() with an empty queue. */
		queue->vars.first_above_time = 0;
		queue->vars.dropping = false;
		return NULL;
	}
	return spa_queue_ask(q, queue);
}

static bool spa_mark_for_fin(struct spa_sched_data *q, struct sk_buff *skb)
{
	if (!q->params.ecn || !INET_ECN_set_ce(skb))
		return false;
	q->queue[SPA_DATA].cstats.ecn_mark++;
	q->mark_for_fin++;
	return true;
}

/* Sends FINs that CoDel dropped. The packet @skb that CoDel returned signals
 * congestion in their place: it is marked or else dropped, unless it is a FIN
 * too. One FIN leaves before @skb is kept, so there is room for @skb.
 */
static noinline struct sk_buff *spa_send_fin(struct Qdisc *sch,
					     struct sk_buff *skb)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct sk_buff *fin = spa_kept_dequeue(q);

	if (!skb)
		return fin;
	if (spa_cb(skb)->fin || spa_mark_for_fin(q, skb)) {
		spa_keep(q, &q->ready, skb);
	} else {
		q->drop_for_fin++;
		spa_drop_at_dequeue(sch, skb);
	}
	return fin;
}

static __always_inline struct sk_buff *spa_dequeue_data(struct Qdisc *sch)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	skb = spa_kept_dequeue(q);
	if (skb)
		return skb;

	q->fin_kept_now = false;
	skb = spa_queue_dequeue(q, &q->queue[SPA_DATA]);
	if (unlikely(q->fin_kept_now))
		return spa_send_fin(sch, skb);
	return skb ? skb : spa_kept_dequeue(q);
}

/* Serves data first because the credit of the priority queue is exhausted. In
 * any period in which data always waits, the priority queue therefore sends at
 * most its share of all bytes plus SHARE_BURST.
 *
 * A child that shapes may have packets but send none: then the priority queue
 * is served.
 */
static noinline struct sk_buff *spa_take_data_first(struct Qdisc *sch,
						    struct spa_queue **from)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct spa_queue *priority = &q->queue[SPA_PRIORITY];
	struct sk_buff *skb = spa_dequeue_data(sch);

	*from = &q->queue[SPA_DATA];
	if (skb) {
		if (spa_queue_len(priority))
			q->held_back++;
		return skb;
	}
	*from = priority;
	return spa_queue_dequeue(q, priority);
}

static __always_inline struct sk_buff *
spa_take_priority_first(struct Qdisc *sch, struct spa_queue **from)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	*from = &q->queue[SPA_PRIORITY];
	skb = spa_queue_dequeue(q, *from);
	if (skb) {
		if (spa_has_data(q))
			share_charge(&q->share, qdisc_pkt_len(skb));
		return skb;
	}
	*from = &q->queue[SPA_DATA];
	return spa_dequeue_data(sch);
}

/* Reports the drops of this dequeue to the parents while the departing packet
 * is still counted: a parent removes an empty queue from its lists, which before
 * Linux 6.15 and its stable branches must not happen to a class that is being
 * dequeued. CoDel never drops the last packet.
 */
static void spa_report_drops(struct Qdisc *sch)
{
	struct spa_sched_data *q = qdisc_priv(sch);

	if (q->drop_count) {
		qdisc_tree_reduce_backlog(sch, q->drop_count, q->drop_len);
		q->drop_count = 0;
		q->drop_len = 0;
	}
}

/* Removes the packet to send. */
static __always_inline struct sk_buff *spa_take(struct Qdisc *sch)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct spa_queue *from;
	struct sk_buff *skb;

	if (unlikely(share_is_used_up(&q->share) && spa_has_data(q)))
		skb = spa_take_data_first(sch, &from);
	else
		skb = spa_take_priority_first(sch, &from);
	spa_report_drops(sch);
	if (!skb)
		return NULL;

	if (from == &q->queue[SPA_DATA])
		share_earn(&q->share, qdisc_pkt_len(skb));
	spa_count(sch, -1, -(int)qdisc_pkt_len(skb));
	bstats_update(&from->bstats, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static struct sk_buff *spa_dequeue(struct Qdisc *sch)
{
	return spa_take(sch);
}

static struct sk_buff *spa_peek(struct Qdisc *sch)
{
	struct sk_buff *skb = skb_peek(&sch->gso_skb);

	if (!skb) {
		skb = spa_take(sch);
		if (skb) {
			__skb_queue_head(&sch->gso_skb, skb);
			spa_count(sch, 1, qdisc_pkt_len(skb));
		}
	}
	return skb;
}

/* Control */

static void spa_reset(struct Qdisc *sch)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	int i;

	for (i = 0; i < SPA_BANDS; i++) {
		struct spa_queue *queue = &q->queue[i];

		queue->drop_change += spa_queue_len(queue);
		if (queue->child)
			qdisc_reset(queue->child);
		__qdisc_reset_queue(&queue->list);
		queue->backlog = 0;
		queue->mem = 0;
		codel_vars_init(&queue->vars);
	}
	q->queue[SPA_DATA].drop_change += spa_kept(q);
	__qdisc_reset_queue(&q->ready);
	__qdisc_reset_queue(&q->held);
	q->kept_backlog = 0;
	share_init(&q->share, q->share.percent);
}

static void spa_destroy(struct Qdisc *sch)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	int i;

	for (i = 0; i < SPA_BANDS; i++)
		qdisc_put(q->queue[i].child);
}

/* Not const: the policies of 6.1 point to variables. */
static struct netlink_range_validation spa_time_range = {
	.max = TC_SPA_TIME_MAX,
};

static struct netlink_range_validation spa_interval_range = {
	.min = TC_SPA_INTERVAL_MIN,
	.max = TC_SPA_TIME_MAX,
};

static struct netlink_range_validation spa_limit_range = {
	.min = 1,
	.max = TC_SPA_LIMIT_MAX,
};

static struct netlink_range_validation spa_maxlen_range = {
	.max = TC_SPA_MAXLEN_MAX,
};

static struct netlink_range_validation spa_held_range = {
	.max = TC_SPA_HELD_MAX,
};

static const struct nla_policy spa_policy[TCA_SPA_MAX + 1] = {
	[TCA_SPA_TARGET]	= NLA_POLICY_FULL_RANGE(NLA_U32, &spa_time_range),
	[TCA_SPA_INTERVAL]	= NLA_POLICY_FULL_RANGE(NLA_U32, &spa_interval_range),
	[TCA_SPA_LIMIT]		= NLA_POLICY_FULL_RANGE(NLA_U32, &spa_limit_range),
	[TCA_SPA_ECN]		= NLA_POLICY_MAX(NLA_U8, 1),
	/* The range, and one value outside it. */
	[TCA_SPA_CE_THRESHOLD]	= { .type = NLA_U32 },
	[TCA_SPA_FIN]		= NLA_POLICY_MAX(NLA_U8, TC_SPA_FIN_MAX),
	[TCA_SPA_MAXLEN]	= NLA_POLICY_FULL_RANGE(NLA_U32, &spa_maxlen_range),
	[TCA_SPA_HELD]		= NLA_POLICY_FULL_RANGE(NLA_U32, &spa_held_range),
	[TCA_SPA_SHARE]		= NLA_POLICY_RANGE(NLA_U8, 1, 100),
	[TCA_SPA_MEMORY]	= NLA_POLICY_MIN(NLA_U32, 1),
};

static codel_time_t spa_codel_time(u32 us)
{
	return ((u64)us * NSEC_PER_USEC) >> CODEL_SHIFT;
}

/* Derives CoDel's parameters from the options of the qdisc. */
static void spa_set_params(struct spa_sched_data *q)
{
	q->params.target = spa_codel_time(q->target);
	q->params.interval = spa_codel_time(q->interval);
	q->params.ce_threshold = CODEL_DISABLED_THRESHOLD;
	if (q->ce_threshold != TC_SPA_CE_THRESHOLD_OFF)
		q->params.ce_threshold = spa_codel_time(q->ce_threshold);
}

static void spa_drop_on_change(struct Qdisc *sch, struct spa_queue *queue,
			       struct sk_buff *skb)
{
	struct spa_sched_data *q = qdisc_priv(sch);

	spa_count(sch, -1, -(int)qdisc_pkt_len(skb));
	q->drop_count++;
	q->drop_len += qdisc_pkt_len(skb);
	queue->drop_change++;
	rtnl_qdisc_drop(skb, sch);
}

/* Drops packets beyond the limits, the oldest first. */
static void spa_trim(struct Qdisc *sch)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct spa_queue *data = &q->queue[SPA_DATA];
	struct sk_buff *skb;
	int i;

	for (i = 0; i < SPA_BANDS; i++) {
		struct spa_queue *queue = &q->queue[i];

		while (queue->list.qlen > q->limit ||
		       (queue->list.qlen && queue->mem > q->memory)) {
			skb = spa_codel_dequeue_func(&queue->vars, queue);
			spa_drop_on_change(sch, queue, skb);
		}
	}
	while (spa_kept(q) > q->max_held || data->mem > q->memory) {
		struct qdisc_skb_head *list = q->ready.qlen ? &q->ready : &q->held;

		skb = __qdisc_dequeue_head(list);
		q->kept_backlog -= qdisc_pkt_len(skb);
		data->mem -= spa_cb(skb)->mem;
		spa_drop_on_change(sch, data, skb);
	}
	spa_report_drops(sch);
}

static int spa_change(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_SPA_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_SPA_MAX, opt, spa_policy, extack);
	if (err < 0)
		return err;

	if (tb[TCA_SPA_CE_THRESHOLD]) {
		u32 value = nla_get_u32(tb[TCA_SPA_CE_THRESHOLD]);

		if (value > TC_SPA_TIME_MAX && value != TC_SPA_CE_THRESHOLD_OFF) {
			NL_SET_ERR_MSG_ATTR(extack, tb[TCA_SPA_CE_THRESHOLD],
					    "ce_threshold is at most 2199 seconds");
			return -ERANGE;
		}
	}

	sch_tree_lock(sch);

	if (tb[TCA_SPA_TARGET])
		WRITE_ONCE(q->target, nla_get_u32(tb[TCA_SPA_TARGET]));
	if (tb[TCA_SPA_INTERVAL])
		WRITE_ONCE(q->interval, nla_get_u32(tb[TCA_SPA_INTERVAL]));
	if (tb[TCA_SPA_LIMIT])
		WRITE_ONCE(q->limit, nla_get_u32(tb[TCA_SPA_LIMIT]));
	if (tb[TCA_SPA_ECN])
		WRITE_ONCE(q->params.ecn, nla_get_u8(tb[TCA_SPA_ECN]));
	if (tb[TCA_SPA_CE_THRESHOLD])
		WRITE_ONCE(q->ce_threshold,
			   nla_get_u32(tb[TCA_SPA_CE_THRESHOLD]));
	spa_set_params(q);
	if (tb[TCA_SPA_FIN])
		WRITE_ONCE(q->fin, nla_get_u8(tb[TCA_SPA_FIN]));
	if (tb[TCA_SPA_MAXLEN]) {
		u32 maxlen = nla_get_u32(tb[TCA_SPA_MAXLEN]);

		WRITE_ONCE(q->maxlen, maxlen ? maxlen : HANDSHAKE_NO_MAXLEN);
	}
	if (tb[TCA_SPA_HELD])
		WRITE_ONCE(q->max_held, nla_get_u32(tb[TCA_SPA_HELD]));
	if (tb[TCA_SPA_SHARE])
		share_change(&q->share, nla_get_u8(tb[TCA_SPA_SHARE]));
	if (tb[TCA_SPA_MEMORY])
		WRITE_ONCE(q->memory, nla_get_u32(tb[TCA_SPA_MEMORY]));

	spa_trim(sch);

	sch_tree_unlock(sch);
	return 0;
}

static int spa_init(struct Qdisc *sch, struct nlattr *opt,
		    struct netlink_ext_ack *extack)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	int i;

	codel_params_init(&q->params);
	q->params.mtu = min_t(u32, psched_mtu(qdisc_dev(sch)), 1 << 20);
	q->target = SPA_TARGET;
	q->interval = SPA_INTERVAL;
	q->ce_threshold = TC_SPA_CE_THRESHOLD_OFF;
	spa_set_params(q);
	q->limit = SPA_LIMIT;
	q->memory = SPA_MEMORY;
	q->maxlen = HANDSHAKE_MAXLEN;
	q->max_held = SPA_HELD;
	share_init(&q->share, SHARE_DEFAULT);
	q->fin = TC_SPA_FIN_INORDER;

	for (i = 0; i < SPA_BANDS; i++) {
		struct spa_queue *queue = &q->queue[i];

		queue->sch = sch;
		codel_vars_init(&queue->vars);
		codel_stats_init(&queue->cstats);
		gnet_stats_basic_sync_init(&queue->bstats);
	}

	/* No TCQ_F_CAN_BYPASS: data that passed the empty qdisc would earn no
	 * credit, and children would not see it.
	 */
	sch->flags |= TCQ_F_DEQUEUE_DROPS;

	return opt ? spa_change(sch, opt, extack) : 0;
}

/* Without the lock: a change may be concurrent, as in Linux's own qdiscs. */
static int spa_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct spa_sched_data *q = qdisc_priv(sch);
	u32 maxlen = READ_ONCE(q->maxlen);
	u32 ce_threshold = READ_ONCE(q->ce_threshold);
	struct nlattr *opts;

	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts)
		goto nla_put_failure;

	if (nla_put_u32(skb, TCA_SPA_TARGET, READ_ONCE(q->target)) ||
	    nla_put_u32(skb, TCA_SPA_INTERVAL, READ_ONCE(q->interval)) ||
	    nla_put_u32(skb, TCA_SPA_LIMIT, READ_ONCE(q->limit)) ||
	    nla_put_u8(skb, TCA_SPA_ECN, READ_ONCE(q->params.ecn)) ||
	    nla_put_u8(skb, TCA_SPA_FIN, READ_ONCE(q->fin)) ||
	    nla_put_u32(skb, TCA_SPA_MAXLEN,
			maxlen == HANDSHAKE_NO_MAXLEN ? 0 : maxlen) ||
	    nla_put_u32(skb, TCA_SPA_HELD, READ_ONCE(q->max_held)) ||
	    nla_put_u8(skb, TCA_SPA_SHARE, READ_ONCE(q->share.percent)) ||
	    nla_put_u32(skb, TCA_SPA_MEMORY, READ_ONCE(q->memory)))
		goto nla_put_failure;
	if (ce_threshold != TC_SPA_CE_THRESHOLD_OFF &&
	    nla_put_u32(skb, TCA_SPA_CE_THRESHOLD, ce_threshold))
		goto nla_put_failure;

	return nla_nest_end(skb, opts);

nla_put_failure:
	nla_nest_cancel(skb, opts);
	return -1;
}

/* Padding has the same type in TCA_SPA_XSTATS_... and TCA_SPA_QUEUE_.... */
#define SPA_PUT_U64(skb, attr, value) \
	nla_put_u64_64bit(skb, attr, value, TCA_SPA_XSTATS_PAD)

static int spa_put_codel(struct sk_buff *skb, const struct spa_queue *queue)
{
	const struct codel_vars *vars = &queue->vars;

	if (nla_put_u32(skb, TCA_SPA_QUEUE_MAXPACKET,
			queue->cstats.maxpacket) ||
	    nla_put_u32(skb, TCA_SPA_QUEUE_COUNT, vars->count) ||
	    nla_put_u32(skb, TCA_SPA_QUEUE_LASTCOUNT, vars->lastcount) ||
	    nla_put_u32(skb, TCA_SPA_QUEUE_LDELAY,
			codel_time_to_us(vars->ldelay)) ||
	    nla_put_u32(skb, TCA_SPA_QUEUE_ECN_MARK, queue->cstats.ecn_mark) ||
	    nla_put_u32(skb, TCA_SPA_QUEUE_CE_MARK, queue->cstats.ce_mark))
		return -EMSGSIZE;
	if (vars->dropping) {
		codel_tdiff_t delta = vars->drop_next - codel_get_time();

		return nla_put_s32(skb, TCA_SPA_QUEUE_DROP_NEXT,
				   delta >= 0 ? codel_time_to_us(delta) :
						-codel_time_to_us(-delta));
	}
	return 0;
}

/* Dumps the statistics of one queue in a nested attribute of the given type. */
static int spa_put_queue(struct sk_buff *skb, int type,
			 const struct spa_queue *queue)
{
	u32 qlen = queue->list.qlen, backlog = queue->backlog;
	struct nlattr *nest = nla_nest_start(skb, type);

	if (!nest)
		return -EMSGSIZE;
	if (queue->child)
		qdisc_qstats_qlen_backlog(queue->child, &qlen, &backlog);

	if (SPA_PUT_U64(skb, TCA_SPA_QUEUE_ENQUEUED, queue->enqueued) ||
	    SPA_PUT_U64(skb, TCA_SPA_QUEUE_SENT,
			u64_stats_read(&queue->bstats.packets)) ||
	    SPA_PUT_U64(skb, TCA_SPA_QUEUE_SENT_BYTES,
			u64_stats_read(&queue->bstats.bytes)) ||
	    SPA_PUT_U64(skb, TCA_SPA_QUEUE_DROP_LIMIT, queue->drop_limit) ||
	    SPA_PUT_U64(skb, TCA_SPA_QUEUE_DROP_MEMORY, queue->drop_memory) ||
	    SPA_PUT_U64(skb, TCA_SPA_QUEUE_DROP_CHILD, queue->drop_child) ||
	    SPA_PUT_U64(skb, TCA_SPA_QUEUE_DROP_CHANGE, queue->drop_change) ||
	    SPA_PUT_U64(skb, TCA_SPA_QUEUE_DROP_CODEL, queue->drop_codel) ||
	    nla_put_u32(skb, TCA_SPA_QUEUE_QLEN, qlen) ||
	    nla_put_u32(skb, TCA_SPA_QUEUE_BACKLOG, backlog) ||
	    nla_put_u32(skb, TCA_SPA_QUEUE_MEMORY, queue->mem) ||
	    (!queue->child && spa_put_codel(skb, queue))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int spa_put_xstats(struct sk_buff *skb, const struct spa_sched_data *q)
{
	if (SPA_PUT_U64(skb, TCA_SPA_XSTATS_SYN, q->syn) ||
	    SPA_PUT_U64(skb, TCA_SPA_XSTATS_FIN_FIRST, q->fin_first) ||
	    SPA_PUT_U64(skb, TCA_SPA_XSTATS_FIN_KEPT, q->fin_kept) ||
	    SPA_PUT_U64(skb, TCA_SPA_XSTATS_FIN_OVERLIMIT, q->fin_overlimit) ||
	    SPA_PUT_U64(skb, TCA_SPA_XSTATS_DROP_FOR_FIN, q->drop_for_fin) ||
	    SPA_PUT_U64(skb, TCA_SPA_XSTATS_MARK_FOR_FIN, q->mark_for_fin) ||
	    SPA_PUT_U64(skb, TCA_SPA_XSTATS_TOOLONG, q->toolong) ||
	    SPA_PUT_U64(skb, TCA_SPA_XSTATS_HELD_BACK, q->held_back) ||
	    nla_put_s64(skb, TCA_SPA_XSTATS_CREDIT, q->share.credit,
			TCA_SPA_XSTATS_PAD) ||
	    nla_put_u32(skb, TCA_SPA_XSTATS_HELD, spa_kept(q)) ||
	    nla_put_u32(skb, TCA_SPA_XSTATS_HELD_BACKLOG, q->kept_backlog))
		return -EMSGSIZE;
	return spa_put_queue(skb, TCA_SPA_XSTATS_PRIORITY,
			     &q->queue[SPA_PRIORITY]) ?:
	       spa_put_queue(skb, TCA_SPA_XSTATS_DATA, &q->queue[SPA_DATA]);
}

static int spa_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start(d->skb, TCA_STATS_APP);
	int err;

	if (!nest)
		return -1;
	sch_tree_lock(sch);
	err = spa_put_xstats(d->skb, q);
	sch_tree_unlock(sch);
	if (err) {
		nla_nest_cancel(d->skb, nest);
		return -1;
	}
	nla_nest_end(d->skb, nest);
	return 0;
}

/* Classes */

static unsigned long spa_find(struct Qdisc *sch, u32 classid)
{
	u32 minor = TC_H_MIN(classid);

	return minor >= 1 && minor <= SPA_BANDS ? minor : 0;
}

static struct spa_queue *spa_class(struct Qdisc *sch, unsigned long cl)
{
	struct spa_sched_data *q = qdisc_priv(sch);

	return &q->queue[cl - 1];
}

static struct Qdisc *spa_leaf(struct Qdisc *sch, unsigned long cl)
{
	return spa_class(sch, cl)->child;
}

static void spa_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	int i;

	if (arg->stop)
		return;
	for (i = 1; i <= SPA_BANDS; i++)
		if (!tc_qdisc_stats_dump(sch, i, arg))
			break;
}

/* Without @new, the built-in CoDel queue returns. As with any replaced qdisc,
 * its queued packets are lost; FINs kept outside the data queue are not.
 */
static int spa_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *new,
		     struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct spa_queue *queue = spa_class(sch, cl);
	struct sk_buff *skb;

	sch_tree_lock(sch);

	*old = queue->child;
	if (*old) {
		queue->drop_change += qdisc_qlen(*old);
		qdisc_purge_queue(*old);
	}
	while ((skb = spa_codel_dequeue_func(&queue->vars, queue)))
		spa_drop_on_change(sch, queue, skb);
	spa_report_drops(sch);
	codel_vars_init(&queue->vars);

	queue->child = new;
	if (queue == &q->queue[SPA_DATA])
		spa_fin_release(q);

	sch_tree_unlock(sch);
	return 0;
}

static int spa_dump_class(struct Qdisc *sch, unsigned long cl,
			  struct sk_buff *skb, struct tcmsg *tcm)
{
	struct spa_queue *queue = spa_class(sch, cl);

	tcm->tcm_handle |= TC_H_MIN(cl);
	tcm->tcm_info = queue->child ? queue->child->handle : 0;
	return 0;
}

static int spa_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				struct gnet_dump *d)
{
	struct spa_sched_data *q = qdisc_priv(sch);
	struct spa_queue *queue = spa_class(sch, cl);
	struct gnet_stats_queue qs = {};
	struct nlattr *nest;
	int err;

	sch_tree_lock(sch);
	if (queue->child) {
		qdisc_qstats_qlen_backlog(queue->child, &qs.qlen, &qs.backlog);
	} else {
		qs.qlen = queue->list.qlen;
		qs.backlog = queue->backlog;
	}
	qs.drops = queue->drop_limit + queue->drop_memory +
		   queue->drop_child + queue->drop_change + queue->drop_codel;
	if (queue == &q->queue[SPA_DATA]) {
		qs.qlen += spa_kept(q);
		qs.backlog += q->kept_backlog;
		qs.drops += q->drop_for_fin;
	}
	sch_tree_unlock(sch);

	if (gnet_stats_copy_basic(d, NULL, &queue->bstats, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &qs, qs.qlen) < 0)
		return -1;

	nest = nla_nest_start(d->skb, TCA_STATS_APP);
	if (!nest)
		return -1;
	sch_tree_lock(sch);
	err = spa_put_queue(d->skb, queue == &q->queue[SPA_DATA] ?
				    TCA_SPA_XSTATS_DATA :
				    TCA_SPA_XSTATS_PRIORITY, queue);
	sch_tree_unlock(sch);
	if (err) {
		nla_nest_cancel(d->skb, nest);
		return -1;
	}
	nla_nest_end(d->skb, nest);
	return 0;
}

static const struct Qdisc_class_ops spa_class_ops = {
	.graft		= spa_graft,
	.leaf		= spa_leaf,
	.find		= spa_find,
	.walk		= spa_walk,
	.dump		= spa_dump_class,
	.dump_stats	= spa_dump_class_stats,
};

static struct Qdisc_ops spa_qdisc_ops __read_mostly = {
	.cl_ops		= &spa_class_ops,
	.id		= "spa",
	.priv_size	= sizeof(struct spa_sched_data),
	.enqueue	= spa_enqueue,
	.dequeue	= spa_dequeue,
	.peek		= spa_peek,
	.init		= spa_init,
	.reset		= spa_reset,
	.destroy	= spa_destroy,
	.change		= spa_change,
	.dump		= spa_dump,
	.dump_stats	= spa_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("spa");

static int __init spa_module_init(void)
{
	return register_qdisc(&spa_qdisc_ops);
}

static void __exit spa_module_exit(void)
{
	unregister_qdisc(&spa_qdisc_ops);
}

module_init(spa_module_init)
module_exit(spa_module_exit)

MODULE_DESCRIPTION("SYN priority active queue management");
MODULE_LICENSE("GPL");
