// SPDX-License-Identifier: GPL-2.0-only
/*
 * gentle: FQ-CoDel in which young flows go first
 *
 * As in fq_codel, each flow has a queue under CoDel, and flows take turns by
 * deficit round robin, and one that begins to wait goes first for one packet.
 * Here a young flow is then served before the others while it is young, the
 * youngest first. It owes waiting flows the time that it takes: at most CoDel's
 * interval at once, and a share of the link. young.h defines young.
 *
 * Flows have places in sets of eight, so that two flows share a queue only
 * where all eight of a set have packets. A flow whose packets wait never moves:
 * its packets stay in order.
 *
 * CoDel drops none of the last two packets of a young flow: they are not a
 * standing queue, however long they wait for others. If many flows wait, none
 * goes first, and all of this is fq_codel.
 *
 * With the option hosts, hosts send by deficit round robin, and flows only
 * within a host; beyond the limit, the host with most data loses packets.
 */

#include <linux/bitops.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/codel_qdisc.h>
#include <net/flow_dissector.h>
#include <net/ip.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "pkt_sch_gentle.h"
#include "young.h"

#define GENTLE_WAYS		8

/* Hosts that may have packets at the same time; more share entries. */
#define GENTLE_HOSTS		64

/* Flows that wait from which on none goes first. */
#define GENTLE_CROWD		64

/* Parts of the link that flows which go first may take in the long run. */
#define GENTLE_SHARE		20
#define GENTLE_WIDE_SHARE	84
#define GENTLE_WHOLE		256

#define GENTLE_DROP_BATCH	64

/* Lists of flows, in the order in which they are served: the young and the
 * others in the first turn since they began to wait, each level of young flows
 * from the second, and all others.
 */
#define GENTLE_FIRST		0
#define GENTLE_NEW		1
#define GENTLE_OLD		(GENTLE_LEVELS + 1)
#define GENTLE_LISTS		(GENTLE_LEVELS + 2)
#define GENTLE_UNLISTED		U8_MAX
#define GENTLE_NONE		U16_MAX

struct gentle_params {
	u32	limit;		/* packets */
	u32	memory_limit;	/* bytes */
	u32	flows;
	u32	target;		/* us */
	u32	interval;	/* us */
	u32	hosts;		/* enum gentle_hosts */
	bool	ecn;
};

/* Please keep it at 64 bytes. */
struct gentle_flow {
	struct sk_buff		*head;
	struct sk_buff		*tail;
	struct codel_vars	cvars;
	/* Age while packets wait, else the clock's bytes when it will be 0. */
	u64			age;
	s32			deficit;
	u32			backlog;
	u16			next;	/* in a list */
	u16			size;	/* sent so far, in units */
	u16			tag;
	u8			list;
	u8			host : 6;
	u8			shared : 1; /* packets of others wait, too, */
	u8			mixed : 1;  /* also of other hosts */
};

struct gentle_list {
	u16	head;
	u16	tail;
};

struct gentle_host {
	struct gentle_list	lists[GENTLE_LISTS];
	u32			waiting;	/* bit i: list i has flows */
	u32			flows;		/* in all lists */
	/* Time of the link that flows which went first owe to those that
	 * waited: in parts of 256 of CoDel's unit.
	 */
	s64			debt;
	s32			adds;		/* to debt, each unit of time */
	u32			backlog;

	u32			tag;		/* hash of the address */
	s32			deficit;	/* bytes left in this turn */
	struct list_head	turn;		/* in new_hosts or old_hosts */
};

struct gentle_sched_data {
	hsiphash_key_t		keys[2];	/* for hashes of TCP, UDP */
	struct gentle_flow	*flows;
	u64			clock;		/* fractions of bytes */
	u32			memory;
	struct gentle_sizes	sizes;

	struct codel_params	cparams;
	struct codel_stats	cstats;
	u32			standing;	/* what CoDel sees */
	bool			crowd;		/* no flow is young */
	codel_time_t		sent_at;	/* time of the last packet */
	struct gentle_host	*sender;	/* of the last packet */

	struct gentle_params	params;
	u64			drop_overlimit;

	struct gentle_host	*hosts;		/* one, or GENTLE_HOSTS */
	u32			n_hosts;
	struct list_head	new_hosts;
	struct list_head	old_hosts;
};

/* Flows */

static noinline u32 gentle_dissect(const struct sk_buff *skb)
{
	struct flow_keys keys;

	skb_flow_dissect_flow_keys(skb, &keys, 0);
	keys.tags.flow_label = 0;
	return flow_hash_from_keys(&keys);
}

/* Returns the hash of a packet's addresses, ports and protocol.
 *
 * Not skb_get_hash(): when a sender times out, it changes the hash that its
 * packets bring, and the flow label of IPv6; its flow would be young again.
 * TCP and UDP are read here, because the dissector takes longer than all the
 * rest of the queue.
 */
static u32 gentle_flow_hash(const struct gentle_sched_data *q,
			    const struct sk_buff *skb)
{
	int at_hand = skb_tail_pointer(skb) - skb_network_header(skb);

	if (skb->protocol == htons(ETH_P_IP) &&
	    at_hand >= (int)(sizeof(struct iphdr) + sizeof(__be32))) {
		const struct iphdr *ip = ip_hdr(skb);

		if (ip->ihl == sizeof(*ip) / 4 && !ip_is_fragment(ip) &&
		    (ip->protocol == IPPROTO_TCP ||
		     ip->protocol == IPPROTO_UDP))
			return hsiphash_3u32((__force u32)ip->saddr,
					     (__force u32)ip->daddr,
					     *(const u32 *)(ip + 1),
					     &q->keys[ip->protocol ==
						      IPPROTO_UDP]);
	} else if (skb->protocol == htons(ETH_P_IPV6) &&
		   at_hand >= (int)(sizeof(struct ipv6hdr) + sizeof(__be32))) {
		const struct ipv6hdr *ip = ipv6_hdr(skb);
		struct {
			struct in6_addr	addresses[2];
			u32		ports;
		} flow;

		if (ip->nexthdr == IPPROTO_TCP || ip->nexthdr == IPPROTO_UDP) {
			flow.addresses[0] = ip->saddr;
			flow.addresses[1] = ip->daddr;
			flow.ports = *(const u32 *)(ip + 1);
			return hsiphash(&flow, sizeof(flow),
					&q->keys[ip->nexthdr == IPPROTO_UDP]);
		}
	}
	return gentle_dissect(skb);
}

/* Ages */

static u64 gentle_clock(const struct gentle_sched_data *q)
{
	return q->clock / GENTLE_FRACTIONS;
}

static u64 gentle_idle_age(const struct gentle_sched_data *q,
			   const struct gentle_flow *flow)
{
	return flow->age > gentle_clock(q) ? flow->age - gentle_clock(q) : 0;
}

/* No packet of the flow waits any more. */
static void gentle_emptied(struct gentle_sched_data *q,
			   struct gentle_flow *flow)
{
	flow->age += gentle_clock(q);
	flow->shared = 0;
	flow->mixed = 0;
}

/* Places */

static bool gentle_is_idle(const struct gentle_flow *flow)
{
	return !flow->head && flow->list == GENTLE_UNLISTED;
}

static bool gentle_is_crowd(const struct gentle_host *host)
{
	return host->flows >= GENTLE_CROWD;
}

/* The place of the flow with this hash. In a crowd a flow takes only the one
 * for which its hash stands: else many flows of a packet each would use all.
 * If there are hosts, hashes stand for half of the places, and a host in a
 * crowd leaves the others to other hosts.
 */
static struct gentle_flow *gentle_place(struct gentle_sched_data *q,
					const struct gentle_host *host,
					u32 hash)
{
	u32 index = reciprocal_scale(hash, q->params.flows);
	u32 homes = q->n_hosts > 1 ? GENTLE_WAYS / 2 : GENTLE_WAYS;
	u32 home = round_down(index, GENTLE_WAYS) + (index & (homes - 1));
	struct gentle_flow *set = q->flows + round_down(home, GENTLE_WAYS);
	struct gentle_flow *own = q->flows + home, *found = NULL;
	int ways = gentle_is_crowd(host) ? 1 : GENTLE_WAYS;
	u16 tag = hash;
	u64 least = 0;

	if (own->tag == tag)
		return own;
	for (int i = 0; i < GENTLE_WAYS; i++)
		if (set[i].tag == tag)
			return &set[i];
	/* Packets of this flow may wait there. */
	if (own->mixed || (own->shared && own->host == host - q->hosts))
		return own;
	for (int i = 0; i < ways; i++) {
		struct gentle_flow *flow = &set[(home + i) % GENTLE_WAYS];
		u64 age;

		if (!gentle_is_idle(flow))
			continue;
		age = gentle_idle_age(q, flow);
		if (!found || age < least) {
			found = flow;
			least = age;
		}
	}
	if (!found) {
		own->shared = 1;
		if (own->host != host - q->hosts)
			own->mixed = 1;
		return own;
	}
	found->tag = tag;
	found->age = 0;
	found->size = 0;
	return found;
}

/* Lists */

static void gentle_append(struct gentle_sched_data *q, struct gentle_host *host,
			  u32 list, struct gentle_flow *flow)
{
	struct gentle_list *l = &host->lists[list];
	u16 index = flow - q->flows;

	flow->next = GENTLE_NONE;
	flow->list = list;
	if (host->waiting & BIT(list))
		q->flows[l->tail].next = index;
	else
		l->head = index;
	l->tail = index;
	host->waiting |= BIT(list);
}

/* Removes the first flow of a list that has one. */
static struct gentle_flow *gentle_take(struct gentle_sched_data *q,
				       struct gentle_host *host, u32 list)
{
	struct gentle_flow *flow = &q->flows[host->lists[list].head];

	host->lists[list].head = flow->next;
	if (flow->next == GENTLE_NONE)
		host->waiting &= ~BIT(list);
	return flow;
}

static void gentle_activate(struct gentle_sched_data *q,
			    struct gentle_host *host, struct gentle_flow *flow)
{
	bool first = gentle_level(flow->age) <= q->sizes.young &&
		     !gentle_is_crowd(host);

	flow->deficit = GENTLE_QUANTUM;
	gentle_append(q, host, first ? GENTLE_FIRST : GENTLE_NEW, flow);
	host->flows++;
}

/* The lists whose flows wait for the flows of a list, which owe them that time:
 * young flows in their first turn owe all others, flows of a level owe the
 * flows that are not young.
 */
static u32 gentle_passed(const struct gentle_host *host, u32 list)
{
	return host->waiting & (list == GENTLE_FIRST ? ~BIT(GENTLE_FIRST) :
				BIT(GENTLE_NEW) | BIT(GENTLE_OLD));
}

/* The list to serve; some list must have flows. Young flows that would owe too
 * much go to the others first: no more than a crowd.
 */
static u32 gentle_list(struct gentle_sched_data *q, struct gentle_host *host)
{
	s64 most = (s64)q->cparams.interval * GENTLE_WHOLE;
	s64 young = q->sizes.young;

	for (;;) {
		u32 list = __ffs(host->waiting);
		s64 older = list == GENTLE_FIRST ? 0 : list - 1;
		struct gentle_flow *flow;

		if (list == GENTLE_NEW || list == GENTLE_OLD ||
		    !gentle_passed(host, list) ||
		    host->debt * young < most * (young - older))
			return list;
		flow = gentle_take(q, host, list);
		flow->deficit = GENTLE_QUANTUM;
		gentle_append(q, host, list == GENTLE_FIRST ? GENTLE_NEW :
							      GENTLE_OLD, flow);
	}
}

/* The flow to serve; some list must have flows. */
static struct gentle_flow *gentle_current(struct gentle_sched_data *q,
					  struct gentle_host *host)
{
	for (;;) {
		u32 list = gentle_list(q, host);
		struct gentle_flow *flow = &q->flows[host->lists[list].head];
		u32 level;

		if (flow->deficit > 0)
			return flow;
		gentle_take(q, host, list);
		if (list == GENTLE_OLD || list == GENTLE_NEW || !flow->head ||
		    gentle_is_crowd(host)) {
			level = GENTLE_OLD;
		} else {
			level = gentle_level(flow->age);
			level = level <= q->sizes.young ? max(level, 2U) :
							  GENTLE_OLD;
		}
		if (level == GENTLE_OLD)
			flow->deficit += GENTLE_QUANTUM;
		else
			flow->deficit = gentle_turn_in_level(flow->age);
		gentle_append(q, host, level, flow);
	}
}

/* The current flow has no packet. As in fq_codel, a new one first goes to the
 * end of the others: it could else return at once and starve them.
 */
static void gentle_deactivate(struct gentle_sched_data *q,
			      struct gentle_host *host,
			      struct gentle_flow *flow)
{
	u32 list = flow->list;

	gentle_take(q, host, list);
	if (list == GENTLE_NEW &&
	    host->waiting & ~(BIT(GENTLE_FIRST) | BIT(GENTLE_NEW))) {
		gentle_append(q, host, GENTLE_OLD, flow);
	} else {
		flow->list = GENTLE_UNLISTED;
		host->flows--;
		if (!host->flows) {
			/* None waits to whom anything is owed. */
			host->debt = 0;
			host->adds = 0;
		}
	}
}

/* The link has sent the last packet. It may have stood still: no packet owes
 * more than the interval.
 */
static void gentle_pass(struct gentle_sched_data *q, codel_time_t now)
{
	struct gentle_host *host = q->sender;
	s64 time = min(now - q->sent_at, q->cparams.interval);

	host->debt = max_t(s64, host->debt + time * host->adds, 0);
	q->sent_at = now;
}

/* The current flow sends a packet. */
static void gentle_charge(struct gentle_sched_data *q, struct gentle_host *host,
			  struct gentle_flow *flow, u32 bytes)
{
	s32 share = q->sizes.young > GENTLE_SHORT ? GENTLE_WIDE_SHARE :
						     GENTLE_SHARE;

	q->sender = host;
	flow->deficit -= bytes;
	if (flow->list == GENTLE_NEW)
		host->adds = 0;	/* as in fq_codel */
	else if (flow->list == GENTLE_OLD || !gentle_passed(host, flow->list))
		host->adds = -share;
	else
		host->adds = GENTLE_WHOLE - share;

	q->clock += bytes * GENTLE_FRACTIONS / host->flows;
	flow->age = min_t(u64, flow->age + bytes, GENTLE_OLDEST);
	gentle_count_size(&q->sizes, &flow->size, bytes);
}

/* Hosts */

static u32 gentle_host_hash(const struct gentle_sched_data *q,
			    const struct sk_buff *skb)
{
	bool src = q->params.hosts == GENTLE_HOSTS_SRC;
	struct flow_keys all, host = {};

	skb_flow_dissect_flow_keys(skb, &all, 0);
	host.control.addr_type = all.control.addr_type;
	switch (all.control.addr_type) {
	case FLOW_DISSECTOR_KEY_IPV4_ADDRS:
		if (src)
			host.addrs.v4addrs.src = all.addrs.v4addrs.src;
		else
			host.addrs.v4addrs.dst = all.addrs.v4addrs.dst;
		break;
	case FLOW_DISSECTOR_KEY_IPV6_ADDRS:
		if (src)
			host.addrs.v6addrs.src = all.addrs.v6addrs.src;
		else
			host.addrs.v6addrs.dst = all.addrs.v6addrs.dst;
		break;
	}
	return flow_hash_from_keys(&host);
}

/* The entry with this hash. A host without one gets an unused one or, if its
 * set has none, shares the entry of its hash. A shared entry keeps the hash of
 * its first host.
 */
static struct gentle_host *gentle_find_host(struct gentle_sched_data *q,
					    u32 hash)
{
	u32 own = hash % GENTLE_HOSTS;
	struct gentle_host *set = q->hosts + round_down(own, GENTLE_WAYS);

	for (int i = 0; i < GENTLE_WAYS; i++)
		if (set[i].tag == hash)
			return &set[i];
	for (int i = 0; i < GENTLE_WAYS; i++) {
		if (list_empty(&set[i].turn)) {
			set[i].tag = hash;
			return &set[i];
		}
	}
	return q->hosts + own;
}

static struct gentle_host *gentle_classify(struct gentle_sched_data *q,
					   const struct sk_buff *skb)
{
	if (!q->params.hosts)
		return q->hosts;
	return gentle_find_host(q, gentle_host_hash(q, skb));
}

/* A host without a turn is served before all that have had theirs. */
static void gentle_give_turn(struct gentle_sched_data *q,
			     struct gentle_host *host)
{
	if (list_empty(&host->turn)) {
		host->deficit = GENTLE_QUANTUM;
		list_add_tail(&host->turn, &q->new_hosts);
	}
}

/* The host whose turn it is, found as fq_codel finds the flow; NULL: none has
 * flows.
 */
static struct gentle_host *gentle_turn(struct gentle_sched_data *q)
{
	if (q->n_hosts == 1)
		return q->hosts->waiting ? q->hosts : NULL;
	while (!list_empty(&q->new_hosts) || !list_empty(&q->old_hosts)) {
		bool new = !list_empty(&q->new_hosts);
		struct list_head *hosts = new ? &q->new_hosts : &q->old_hosts;
		struct gentle_host *host =
			list_first_entry(hosts, struct gentle_host, turn);

		if (host->deficit <= 0) {
			host->deficit += GENTLE_QUANTUM;
			list_move_tail(&host->turn, &q->old_hosts);
		} else if (host->waiting) {
			return host;
		} else if (new && !list_empty(&q->old_hosts)) {
			/* Else it could starve old hosts by being new again. */
			list_move_tail(&host->turn, &q->old_hosts);
		} else {
			list_del_init(&host->turn);
		}
	}
	return NULL;
}

/* Queues */

static void gentle_push(struct Qdisc *sch, struct gentle_flow *flow,
			struct sk_buff *skb)
{
	struct gentle_sched_data *q = qdisc_priv(sch);

	skb->next = NULL;
	if (flow->head)
		flow->tail->next = skb;
	else
		flow->head = skb;
	flow->tail = skb;
	flow->backlog += qdisc_pkt_len(skb);
	q->hosts[flow->host].backlog += qdisc_pkt_len(skb);
	q->memory += get_codel_cb(skb)->mem_usage;
	qdisc_qlen_inc(sch);
	qdisc_qstats_backlog_inc(sch, skb);
}

static struct sk_buff *gentle_pop(struct Qdisc *sch, struct gentle_flow *flow)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = flow->head;

	flow->head = skb->next;
	skb_mark_not_on_list(skb);
	flow->backlog -= qdisc_pkt_len(skb);
	q->hosts[flow->host].backlog -= qdisc_pkt_len(skb);
	q->memory -= get_codel_cb(skb)->mem_usage;
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

/* For CoDel: the queue's next packet, and the bytes that stand behind it. */
static struct sk_buff *gentle_next(struct codel_vars *vars, void *ctx)
{
	struct gentle_flow *flow = container_of(vars, struct gentle_flow,
						cvars);
	struct Qdisc *sch = ctx;
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = NULL;

	if (flow->head)
		skb = gentle_pop(sch, flow);
	q->standing = sch->qstats.backlog;
	if ((!flow->head || flow->head == flow->tail) && !q->crowd &&
	    gentle_level(flow->age) <= q->sizes.young)
		q->standing = 0;
	return skb;
}

static void gentle_drop(struct sk_buff *skb, void *ctx)
{
	struct Qdisc *sch = ctx;

	qdisc_dequeue_drop(sch, skb, QDISC_DROP_CONGESTED);
	qdisc_qstats_drop(sch);
}

/* Drops half of the fattest queue, or a batch, from its head. It is a queue of
 * the host that holds most.
 */
static noinline struct gentle_flow *gentle_drop_fattest(struct Qdisc *sch,
							struct sk_buff **to_free)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct gentle_flow *fattest = NULL;
	u32 host = 0, most = 0, dropped = 0, bytes = 0;

	for (u32 i = 1; i < q->n_hosts; i++)
		if (q->hosts[i].backlog > q->hosts[host].backlog)
			host = i;
	for (u32 i = 0; i < q->params.flows; i++) {
		struct gentle_flow *flow = &q->flows[i];

		if (flow->backlog > most && flow->host == host) {
			most = flow->backlog;
			fattest = flow;
		}
	}
	if (!fattest)
		return NULL;
	do {
		struct sk_buff *skb = gentle_pop(sch, fattest);

		bytes += qdisc_pkt_len(skb);
		qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_OVERLIMIT);
	} while (++dropped < GENTLE_DROP_BATCH && bytes < most / 2);
	fattest->cvars.count += dropped;
	q->drop_overlimit += dropped;
	if (!fattest->head)
		gentle_emptied(q, fattest);
	return fattest;
}

static bool gentle_is_full(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);

	return sch->q.qlen > q->params.limit ||
	       q->memory > q->params.memory_limit;
}

static int gentle_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct gentle_host *host = gentle_classify(q, skb);
	struct gentle_flow *flow = gentle_place(q, host,
						gentle_flow_hash(q, skb));
	u32 len = qdisc_pkt_len(skb), packets, bytes;

	/* Packets that share a place share its host while any of them waits. */
	if (flow->list == GENTLE_UNLISTED) {
		flow->host = host - q->hosts;
		if (q->n_hosts > 1)
			gentle_give_turn(q, host);
	}
	if (!flow->head) {
		flow->age = gentle_idle_age(q, flow);
		if (flow->list == GENTLE_UNLISTED)
			gentle_activate(q, &q->hosts[flow->host], flow);
	}
	codel_set_enqueue_time(skb);
	get_codel_cb(skb)->mem_usage = skb->truesize;
	gentle_push(sch, flow, skb);
	if (likely(!gentle_is_full(sch)))
		return NET_XMIT_SUCCESS;

	packets = sch->q.qlen;
	bytes = sch->qstats.backlog;
	if (gentle_drop_fattest(sch, to_free) == flow) {
		/* The parent does not count the packet reported as lost. */
		qdisc_tree_reduce_backlog(sch, packets - sch->q.qlen - 1,
					  bytes - sch->qstats.backlog - len);
		return NET_XMIT_CN;
	}
	qdisc_tree_reduce_backlog(sch, packets - sch->q.qlen,
				  bytes - sch->qstats.backlog);
	return NET_XMIT_SUCCESS;
}

/* Reports CoDel's drops to the parents, as if the packet to send were still
 * here: before Linux 6.15 and its stable branches, a parent must not remove a
 * class from its lists while it serves it. CoDel never drops the last packet.
 */
static noinline void gentle_report_drops(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);

	qdisc_qlen_inc(sch);
	qdisc_tree_reduce_backlog(sch, q->cstats.drop_count,
				  q->cstats.drop_len);
	qdisc_qlen_dec(sch);
	q->cstats.drop_count = 0;
	q->cstats.drop_len = 0;
}

static struct sk_buff *gentle_dequeue(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = NULL;
	struct gentle_host *host;

	while (!skb && (host = gentle_turn(q))) {
		struct gentle_flow *flow = gentle_current(q, host);

		if (!flow->head) {
			flow->cvars.first_above_time = 0;
			flow->cvars.dropping = false;
			gentle_deactivate(q, host, flow);
			continue;
		}
		q->crowd = gentle_is_crowd(host);
		skb = codel_dequeue(sch, &q->standing, &q->cparams,
				    &flow->cvars, &q->cstats, qdisc_pkt_len,
				    codel_get_enqueue_time, gentle_drop,
				    gentle_next);
		if (skb) {
			/* The time that codel_dequeue() has read. */
			gentle_pass(q, codel_get_enqueue_time(skb) +
				       flow->cvars.ldelay);
			gentle_charge(q, host, flow, qdisc_pkt_len(skb));
			host->deficit -= qdisc_pkt_len(skb);
		}
		if (!flow->head)
			gentle_emptied(q, flow);
		if (!skb)
			gentle_deactivate(q, host, flow);
	}
	if (q->cstats.drop_count)
		gentle_report_drops(sch);
	if (skb)
		qdisc_bstats_update(sch, skb);
	return skb;
}

static void gentle_reset_host(struct gentle_host *host)
{
	memset(host, 0, sizeof(*host));
	INIT_LIST_HEAD(&host->turn);
}

static void gentle_reset_state(struct gentle_sched_data *q)
{
	for (u32 i = 0; i < q->params.flows; i++) {
		struct gentle_flow *flow = &q->flows[i];

		memset(flow, 0, sizeof(*flow));
		flow->list = GENTLE_UNLISTED;
		codel_vars_init(&flow->cvars);
	}
	for (u32 i = 0; i < q->n_hosts; i++)
		gentle_reset_host(&q->hosts[i]);
	INIT_LIST_HEAD(&q->new_hosts);
	INIT_LIST_HEAD(&q->old_hosts);
	q->sender = q->hosts;
	memset(&q->sizes, 0, sizeof(q->sizes));
	q->sizes.young = GENTLE_SHORT;
	q->clock = 0;
	q->memory = 0;
}

static void gentle_reset(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);

	if (!q->flows || !q->hosts)
		return;
	for (u32 i = 0; i < q->params.flows; i++)
		rtnl_kfree_skbs(q->flows[i].head, q->flows[i].tail);
	gentle_reset_state(q);
}

/* Options */

static const struct netlink_range_validation gentle_limit_range = {
	.min = 1,
	.max = U32_MAX,
};

static const struct netlink_range_validation gentle_flows_range = {
	.min = GENTLE_WAYS,
	.max = 32768,
};

static const struct netlink_range_validation gentle_memory_range = {
	.max = 1U << 31,
};

static const struct nla_policy gentle_policy[TCA_GENTLE_MAX + 1] = {
	[TCA_GENTLE_LIMIT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &gentle_limit_range),
	[TCA_GENTLE_FLOWS] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &gentle_flows_range),
	[TCA_GENTLE_TARGET] = { .type = NLA_U32 },
	[TCA_GENTLE_INTERVAL] = { .type = NLA_U32 },
	[TCA_GENTLE_MEMORY_LIMIT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &gentle_memory_range),
	[TCA_GENTLE_ECN] = NLA_POLICY_MAX(NLA_U32, 1),
	[TCA_GENTLE_HOSTS] = NLA_POLICY_MAX(NLA_U32, GENTLE_HOSTS_DST),
};

static int gentle_parse(struct gentle_params *p, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_GENTLE_MAX + 1];
	int err;

	err = nla_parse_nested(tb, TCA_GENTLE_MAX, opt, gentle_policy, extack);
	if (err < 0)
		return err;

	if (tb[TCA_GENTLE_LIMIT])
		p->limit = nla_get_u32(tb[TCA_GENTLE_LIMIT]);
	if (tb[TCA_GENTLE_FLOWS])
		p->flows = round_up(nla_get_u32(tb[TCA_GENTLE_FLOWS]),
				    GENTLE_WAYS);
	if (tb[TCA_GENTLE_TARGET])
		p->target = nla_get_u32(tb[TCA_GENTLE_TARGET]);
	if (tb[TCA_GENTLE_INTERVAL])
		p->interval = nla_get_u32(tb[TCA_GENTLE_INTERVAL]);
	if (tb[TCA_GENTLE_MEMORY_LIMIT])
		p->memory_limit = nla_get_u32(tb[TCA_GENTLE_MEMORY_LIMIT]);
	if (tb[TCA_GENTLE_ECN])
		p->ecn = nla_get_u32(tb[TCA_GENTLE_ECN]);
	if (tb[TCA_GENTLE_HOSTS])
		p->hosts = nla_get_u32(tb[TCA_GENTLE_HOSTS]);
	return 0;
}

static codel_time_t gentle_codel_time(u32 us)
{
	return ((u64)us * NSEC_PER_USEC) >> CODEL_SHIFT;
}

static void gentle_set_params(struct gentle_sched_data *q,
			      const struct gentle_params *p)
{
	q->params = *p;
	q->cparams.target = gentle_codel_time(p->target);
	q->cparams.interval = gentle_codel_time(p->interval);
	q->cparams.ecn = p->ecn;
}

/* Packets that wait stay with the first host. */
static void gentle_add_hosts(struct gentle_sched_data *q,
			     struct gentle_host *hosts)
{
	hosts[0] = *q->hosts;
	INIT_LIST_HEAD(&hosts[0].turn);
	if (hosts[0].waiting)
		gentle_give_turn(q, &hosts[0]);
	for (int i = 1; i < GENTLE_HOSTS; i++)
		gentle_reset_host(&hosts[i]);
	q->hosts = hosts;
	q->n_hosts = GENTLE_HOSTS;
	q->sender = hosts;
}

/* Not the fattest first: that would take long, and all locks are held. */
static void gentle_trim(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	u32 packets = sch->q.qlen, bytes = sch->qstats.backlog;

	for (u32 i = 0; i < q->params.flows && gentle_is_full(sch); i++) {
		struct gentle_flow *flow = &q->flows[i];

		if (!flow->head)
			continue;
		while (flow->head && gentle_is_full(sch)) {
			rtnl_qdisc_drop(gentle_pop(sch, flow), sch);
			q->drop_overlimit++;
		}
		if (!flow->head)
			gentle_emptied(q, flow);
	}
	qdisc_tree_reduce_backlog(sch, packets - sch->q.qlen,
				  bytes - sch->qstats.backlog);
}

static int gentle_change(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct gentle_params new = q->params;
	struct gentle_host *hosts = NULL, *first = NULL;
	int err;

	err = gentle_parse(&new, opt, extack);
	if (err)
		return err;
	if (new.flows != q->params.flows) {
		NL_SET_ERR_MSG(extack, "The number of flows cannot change");
		return -EINVAL;
	}
	if (new.hosts && q->n_hosts == 1) {
		hosts = kvcalloc(GENTLE_HOSTS, sizeof(*hosts), GFP_KERNEL);
		if (!hosts)
			return -ENOMEM;
	}

	sch_tree_lock(sch);
	if (hosts) {
		first = q->hosts;
		gentle_add_hosts(q, hosts);
	}
	gentle_set_params(q, &new);
	gentle_trim(sch);
	sch_tree_unlock(sch);
	kvfree(first);
	return 0;
}

static int gentle_init(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct gentle_params params = {
		.limit		= 10240,
		.memory_limit	= 32 << 20,
		.flows		= 1024,
		.target		= 5 * USEC_PER_MSEC,
		.interval	= 100 * USEC_PER_MSEC,
		.ecn		= true,
	};

	if (opt) {
		int err = gentle_parse(&params, opt, extack);

		if (err)
			return err;
	}
	codel_params_init(&q->cparams);
	q->cparams.mtu = psched_mtu(qdisc_dev(sch));
	codel_stats_init(&q->cstats);
	gentle_set_params(q, &params);
	get_random_bytes(q->keys, sizeof(q->keys));

	q->n_hosts = params.hosts ? GENTLE_HOSTS : 1;
	q->flows = kvcalloc(params.flows, sizeof(*q->flows), GFP_KERNEL);
	q->hosts = kvcalloc(q->n_hosts, sizeof(*q->hosts), GFP_KERNEL);
	/* destroy() follows a failure. */
	if (!q->flows || !q->hosts)
		return -ENOMEM;
	gentle_reset_state(q);
	sch->flags |= TCQ_F_DEQUEUE_DROPS;
	return 0;
}

static void gentle_destroy(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);

	kvfree(q->flows);
	kvfree(q->hosts);
}

static int gentle_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct gentle_sched_data *q = qdisc_priv(sch);
	const struct gentle_params *p = &q->params;
	struct nlattr *opts;

	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_GENTLE_LIMIT, READ_ONCE(p->limit)) ||
	    nla_put_u32(skb, TCA_GENTLE_FLOWS, p->flows) ||
	    nla_put_u32(skb, TCA_GENTLE_TARGET, READ_ONCE(p->target)) ||
	    nla_put_u32(skb, TCA_GENTLE_INTERVAL, READ_ONCE(p->interval)) ||
	    nla_put_u32(skb, TCA_GENTLE_MEMORY_LIMIT,
			READ_ONCE(p->memory_limit)) ||
	    nla_put_u32(skb, TCA_GENTLE_ECN, READ_ONCE(p->ecn)) ||
	    nla_put_u32(skb, TCA_GENTLE_HOSTS, READ_ONCE(p->hosts))) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

/* Without the lock: hosts are only freed when the options change, and neither
 * that nor a dump is concurrent with another.
 */
static int gentle_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	const struct gentle_sched_data *q = qdisc_priv(sch);
	struct nlattr *nest;
	u32 flows = 0;
	s64 debt = 0;

	for (u32 i = 0; i < q->n_hosts; i++) {
		flows += READ_ONCE(q->hosts[i].flows);
		debt = max(debt, READ_ONCE(q->hosts[i].debt));
	}
	debt = (debt / GENTLE_WHOLE << CODEL_SHIFT) / NSEC_PER_USEC;

	nest = nla_nest_start(d->skb, TCA_STATS_APP);
	if (!nest)
		return -1;
	if (nla_put_u64_64bit(d->skb, TCA_GENTLE_XSTATS_DROP_OVERLIMIT,
			      READ_ONCE(q->drop_overlimit),
			      TCA_GENTLE_XSTATS_PAD) ||
	    nla_put_u64_64bit(d->skb, TCA_GENTLE_XSTATS_ECN_MARK,
			      READ_ONCE(q->cstats.ecn_mark),
			      TCA_GENTLE_XSTATS_PAD) ||
	    nla_put_u32(d->skb, TCA_GENTLE_XSTATS_FLOWS, flows) ||
	    nla_put_u32(d->skb, TCA_GENTLE_XSTATS_YOUNG_LEVELS,
			READ_ONCE(q->sizes.young)) ||
	    nla_put_u32(d->skb, TCA_GENTLE_XSTATS_MEMORY_USAGE,
			READ_ONCE(q->memory)) ||
	    nla_put_u32(d->skb, TCA_GENTLE_XSTATS_DEBT, debt)) {
		nla_nest_cancel(d->skb, nest);
		return -1;
	}
	nla_nest_end(d->skb, nest);
	return 0;
}

static struct Qdisc_ops gentle_qdisc_ops __read_mostly = {
	.id		= "gentle",
	.priv_size	= sizeof(struct gentle_sched_data),
	.enqueue	= gentle_enqueue,
	.dequeue	= gentle_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= gentle_init,
	.reset		= gentle_reset,
	.destroy	= gentle_destroy,
	.change		= gentle_change,
	.dump		= gentle_dump,
	.dump_stats	= gentle_dump_stats,
	.owner		= THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("gentle");

static int __init gentle_module_init(void)
{
	BUILD_BUG_ON(sizeof(struct gentle_flow) > 64);
	return register_qdisc(&gentle_qdisc_ops);
}

static void __exit gentle_module_exit(void)
{
	unregister_qdisc(&gentle_qdisc_ops);
}

module_init(gentle_module_init)
module_exit(gentle_module_exit)

MODULE_AUTHOR("The gentle authors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("FQ-CoDel in which young flows go first (gentle)");
