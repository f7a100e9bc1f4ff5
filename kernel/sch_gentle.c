// SPDX-License-Identifier: GPL-2.0-only
/*
 * gentle: bands by age
 *
 * A flow's age is the number of bytes that it has sent, less what it has been
 * forgiven. Its packets go to one of several FIFOs, whose bounds of age double.
 * The youngest band that has packets is served, but the oldest one is sure of
 * a share. This is least attained service in coarse steps (Rai, Urvoy-Keller
 * and Biersack, SIGMETRICS 2003): short connections, and flows that send less
 * than their share, do not wait for long ones.
 *
 * ages.h says how ages are counted and forgiven.
 *
 * The queue may hold what the link sends in a certain time, by a rate that is
 * measured while packets wait. Beyond that the oldest band loses its first
 * packet. If the queue does not run empty within half a second after a drop,
 * it is longer than the flows need, and the time shrinks; else it grows.
 *
 * With the option hosts, each host has bands of its own. Hosts send by deficit
 * round robin, and the one that holds most loses packets.
 */

#include <linux/bitops.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/flow_dissector.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "ages.h"
#include "compat.h"
#include "pkt_sch_gentle.h"

#define GENTLE_FRAME		1514
#define GENTLE_LEAST_LIMIT	(5 * GENTLE_FRAME)

/* Hosts that may have packets at the same time; more share entries. */
#define GENTLE_HOSTS		64

/* Measurement of the link's rate: neither a burst nor a few packets. It ends
 * when it is long enough and has enough bytes, or when the link may go idle.
 */
#define GENTLE_PROBE_SHORTEST	NSEC_PER_MSEC
#define GENTLE_PROBE_ENOUGH	(100 * NSEC_PER_MSEC)
#define GENTLE_PROBE_LEAST	(10 * GENTLE_FRAME)

/* Time in which a drop has its effect on the queue. */
#define GENTLE_REACTION		(500 * NSEC_PER_MSEC)

struct gentle_params {
	u64	limit;		/* ns */
	u32	memory_limit;	/* bytes */
	u32	bands;
	u32	first;		/* bytes */
	u32	weight;
	u32	forgive;	/* percent */
	u32	flows;
	u32	hosts;		/* enum gentle_hosts */
	bool	ecn;
};

struct gentle_set {
	struct gentle_entry	way[GENTLE_WAYS];
} ____cacheline_aligned;

struct gentle_band {
	struct sk_buff	*head;
	struct sk_buff	*tail;
	u32		bytes;
};

/* Packets of a host, or of all hosts. */
struct gentle_host {
	struct gentle_band	bands[GENTLE_MAX_BANDS];
	u32			waiting;	/* bit i: band i has packets */
	u32			bytes;
	/* Bytes that younger bands have sent while the oldest waited, less
	 * weight times those that it has sent.
	 */
	s64			due;

	u32			tag;		/* hash of the address */
	s32			deficit;	/* bytes left to send in this turn */
	struct list_head	turn;		/* in new_hosts or old_hosts */
};

struct gentle_sched_data {
	hsiphash_key_t		keys[2];	/* for hashes of TCP, UDP */
	struct gentle_set	*sets;
	u32			n_sets;
	struct gentle_ages	ages;

	u32			limit_bytes;
	u32			guaranteed;	/* bytes of the oldest band */

	u64			rate;		/* bytes per second, 0: unknown */
	bool			probing;
	u64			probe_since;
	u64			probe_sent;	/* bytes that have left since */
	u64			probe_waited;	/* bytes that waited then */

	u64			room;		/* ns */
	u64			verdict;	/* time; 0: none is due */

	struct gentle_params	params;

	u64			push_out;
	u64			ecn_mark;

	struct gentle_host	*serving;	/* whose turn it is */
	struct gentle_host	*hosts;		/* NULL: never told apart */
	struct list_head	new_hosts;
	struct list_head	old_hosts;
	struct gentle_host	all;		/* if hosts are not told apart */
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
static u32 gentle_flow(const struct gentle_sched_data *q,
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

/* Returns the age of the packet's flow before it, and adds the packet. */
static u32 gentle_count(struct gentle_sched_data *q, const struct sk_buff *skb,
			u64 now)
{
	u32 hash = gentle_flow(q, skb);
	struct gentle_set *set = &q->sets[reciprocal_scale(hash, q->n_sets)];

	if (gentle_period_is_over(&q->ages, now))
		gentle_end_period(&q->ages, now, q->rate, q->params.forgive);
	return gentle_charge(&q->ages, set->way, hash, qdisc_pkt_len(skb));
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

/* The entry with this hash. A host without one gets one that nobody uses or, if
 * there is none in its set, shares the one that its hash stands for.
 */
static struct gentle_host *gentle_find_host(struct gentle_sched_data *q,
					    u32 hash)
{
	u32 own = hash % GENTLE_HOSTS;
	struct gentle_host *set = q->hosts + round_down(own, GENTLE_WAYS);
	struct gentle_host *host = q->hosts + own;

	for (int i = 0; i < GENTLE_WAYS; i++)
		if (set[i].tag == hash)
			return &set[i];
	for (int i = 0; i < GENTLE_WAYS; i++) {
		if (list_empty(&set[i].turn)) {
			host = &set[i];
			break;
		}
	}
	host->tag = hash;
	return host;
}

/* A host without a turn is served before all that have had theirs. */
static void gentle_give_turn(struct gentle_sched_data *q,
			     struct gentle_host *host)
{
	if (list_empty(&host->turn)) {
		host->deficit = GENTLE_FRAME;
		list_add_tail(&host->turn, &q->new_hosts);
	}
}

static struct gentle_host *gentle_classify(struct gentle_sched_data *q,
					   const struct sk_buff *skb)
{
	struct gentle_host *host = &q->all;

	if (!q->hosts)
		return host;
	if (q->params.hosts)
		host = gentle_find_host(q, gentle_host_hash(q, skb));
	gentle_give_turn(q, host);
	return host;
}

/* Finds the host whose turn it is, as fq_codel finds the flow. */
static void gentle_pass_turn(struct gentle_sched_data *q)
{
	while (!list_empty(&q->new_hosts) || !list_empty(&q->old_hosts)) {
		bool new = !list_empty(&q->new_hosts);
		struct list_head *hosts = new ? &q->new_hosts : &q->old_hosts;
		struct gentle_host *host =
			list_first_entry(hosts, struct gentle_host, turn);

		if (host->deficit <= 0) {
			host->deficit += GENTLE_FRAME;
			list_move_tail(&host->turn, &q->old_hosts);
		} else if (host->waiting) {
			q->serving = host;
			return;
		} else if (new && !list_empty(&q->old_hosts)) {
			/* Else it could starve old hosts by being new again. */
			list_move_tail(&host->turn, &q->old_hosts);
		} else {
			list_del_init(&host->turn);
		}
	}
	q->serving = &q->all;
}

/* The host that holds most bytes, which is the one to lose packets. */
static struct gentle_host *gentle_heaviest(struct gentle_sched_data *q)
{
	struct gentle_host *found = &q->all;

	if (!q->hosts)
		return found;
	for (int i = 0; i < GENTLE_HOSTS; i++)
		if (q->hosts[i].bytes > found->bytes)
			found = &q->hosts[i];
	return found;
}

/* Rate of the link, and limit */

/* Bytes that the queue may hold if it may be this long in time. */
static u32 gentle_bytes(const struct gentle_sched_data *q, u64 time)
{
	u64 bytes;

	if (!q->rate)
		return q->params.memory_limit;
	bytes = mul_u64_u64_div_u64(q->rate, time, NSEC_PER_SEC);
	return min_t(u64, max_t(u64, bytes, GENTLE_LEAST_LIMIT),
		     q->params.memory_limit);
}

/* Younger packets cannot take from the oldest band its share of the longest
 * queue. A flood, which no drop ends, shrinks the limit, and a share of that
 * can be less than a packet, which TCP cannot use; but the young keep two
 * thirds of what is left.
 */
static void gentle_update_limit(struct gentle_sched_data *q)
{
	u32 parts = q->params.weight + 1;

	q->limit_bytes = gentle_bytes(q, q->room);
	q->guaranteed = min(gentle_bytes(q, q->params.limit) / parts,
			    q->limit_bytes / min_t(u32, parts, 3));
}

/* Returns true if the rate changes. The clock is read only where it counts. */
static bool gentle_measure(struct gentle_sched_data *q, u32 bytes, u32 backlog)
{
	u64 time, rate;

	if (!q->probing) {
		if (backlog > GENTLE_PROBE_LEAST) {
			q->probing = true;
			q->probe_since = ktime_get_ns();
			q->probe_sent = bytes;
			q->probe_waited = backlog;
		}
		return false;
	}
	time = ktime_get_ns() - q->probe_since;
	if (q->probe_sent + bytes < q->probe_waited &&
	    (time < GENTLE_PROBE_ENOUGH ||
	     q->probe_sent < GENTLE_PROBE_LEAST)) {
		q->probe_sent += bytes;
		return false;
	}

	q->probing = false;
	if (q->probe_sent < GENTLE_PROBE_LEAST || time < GENTLE_PROBE_SHORTEST)
		return false;
	rate = mul_u64_u64_div_u64(q->probe_sent, NSEC_PER_SEC, time);
	q->rate = q->rate ? q->rate - q->rate / 4 + rate / 4 : rate;
	return true;
}

static bool gentle_grow(struct gentle_sched_data *q)
{
	u64 before = q->room;

	q->room = min(before + before / 2, q->params.limit);
	return q->room != before;
}

/* Judges the effect of a drop half a second ago. Returns true if the limit
 * changes.
 */
static bool gentle_judge(struct gentle_sched_data *q, u64 now)
{
	u64 before = q->room;

	if (!q->verdict || now < q->verdict)
		return false;
	q->verdict = 0;
	/* Flows of the two oldest bands last long enough to react. */
	if (!(gentle_heaviest(q)->waiting >> (q->params.bands - 2)))
		return gentle_grow(q);
	q->room = max(before - before / 8, div_u64(q->params.limit, 10));
	return q->room != before;
}

/* Bands */

static inline struct sk_buff *gentle_pop(struct Qdisc *sch,
					 struct gentle_host *host, int band)
{
	struct gentle_band *b = &host->bands[band];
	struct sk_buff *skb = b->head;
	u32 bytes = qdisc_pkt_len(skb);

	b->head = skb->next;
	if (!b->head)
		host->waiting &= ~BIT(band);
	skb_mark_not_on_list(skb);
	b->bytes -= bytes;
	host->bytes -= bytes;
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	return skb;
}

static void gentle_push(struct Qdisc *sch, struct gentle_host *host, int band,
			struct sk_buff *skb)
{
	struct gentle_band *b = &host->bands[band];
	u32 bytes = qdisc_pkt_len(skb);

	skb->next = NULL;
	if (b->head)
		b->tail->next = skb;
	else
		b->head = skb;
	b->tail = skb;
	host->waiting |= BIT(band);
	b->bytes += bytes;
	host->bytes += bytes;
	qdisc_qlen_inc(sch);
	qdisc_qstats_backlog_inc(sch, skb);
}

/* The band to serve; some band must have packets. */
static int gentle_next(const struct gentle_sched_data *q,
		       const struct gentle_host *host)
{
	if (host->due >= (s64)q->params.weight * GENTLE_FRAME)
		return __fls(host->waiting);
	return __ffs(host->waiting);
}

/* The band that loses its first packet: the oldest one, unless it has a single
 * packet or no more than is guaranteed; a flood of new flows could else take
 * its packets before they are served.
 */
static int gentle_victim(const struct gentle_sched_data *q,
			 const struct gentle_host *host)
{
	int oldest = __fls(host->waiting);
	u32 younger = host->waiting & ~BIT(oldest);
	const struct gentle_band *b = &host->bands[oldest];

	if (younger && (b->head == b->tail ||
			b->bytes <= q->guaranteed))
		return __fls(younger);
	return oldest;
}

static bool gentle_can_mark(struct sk_buff *skb)
{
	int dsfield = skb_get_dsfield(skb);

	return dsfield >= 0 && INET_ECN_is_not_ect(dsfield) == 0;
}

/* Drops packets until the rest fits. Returns true if new, which may be NULL, is
 * one of them: that the parent does not count.
 */
static noinline bool gentle_make_room(struct Qdisc *sch, struct sk_buff *new,
				      struct sk_buff **to_free, u64 now)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	u32 packets = 0, bytes = 0;
	bool lost = false;

	while (sch->qstats.backlog > q->limit_bytes && sch->q.qlen) {
		u64 twice = min_t(u64, 2ULL * q->limit_bytes,
				  q->params.memory_limit);
		struct gentle_host *host = gentle_heaviest(q);
		int band = gentle_victim(q, host);
		struct sk_buff *skb = host->bands[band].head;

		if (!q->verdict)
			q->verdict = now + GENTLE_REACTION;
		/* A packet that can be marked is, when it leaves. */
		if (q->params.ecn && sch->qstats.backlog <= twice &&
		    gentle_can_mark(skb))
			break;
		gentle_pop(sch, host, band);
		/* A measurement under way has counted on it. */
		q->probe_waited -= min_t(u64, qdisc_pkt_len(skb),
					 q->probe_waited);
		q->push_out++;
		if (skb == new) {
			lost = true;
		} else {
			packets++;
			bytes += qdisc_pkt_len(skb);
		}
		qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_OVERLIMIT);
	}
	qdisc_tree_reduce_backlog(sch, packets, bytes);
	return lost;
}

static int gentle_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			  struct sk_buff **to_free)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct gentle_host *host = gentle_classify(q, skb);
	u64 now = ktime_get_ns();
	bool lost = false;
	int band;

	band = gentle_band(gentle_count(q, skb, now), q->params.first,
			   q->params.bands);
	gentle_push(sch, host, band, skb);

	if (gentle_judge(q, now))
		gentle_update_limit(q);
	if (unlikely(sch->qstats.backlog > q->limit_bytes))
		lost = gentle_make_room(sch, skb, to_free, now);
	if (q->hosts)
		gentle_pass_turn(q);
	return lost ? NET_XMIT_CN : NET_XMIT_SUCCESS;
}

/* Marks a packet of the host that is over the limit, in its oldest band. */
static noinline void gentle_mark(struct gentle_sched_data *q,
				 const struct gentle_host *host, int band)
{
	if (q->params.ecn && band == __fls(host->waiting) &&
	    host == gentle_heaviest(q) &&
	    INET_ECN_set_ce(host->bands[band].head))
		q->ecn_mark++;
}

static struct sk_buff *gentle_dequeue(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct gentle_host *host = q->serving;
	u32 backlog, bytes;
	struct sk_buff *skb;
	bool changed;
	int band;

	if (!host->waiting)
		return NULL;
	backlog = sch->qstats.backlog;
	band = gentle_next(q, host);
	if (unlikely(backlog > q->limit_bytes))
		gentle_mark(q, host, band);

	bytes = qdisc_pkt_len(host->bands[band].head);
	if (band < __fls(host->waiting))
		host->due += bytes;
	else
		host->due -= min_t(s64, host->due,
				   (s64)q->params.weight * bytes);
	skb = gentle_pop(sch, host, band);
	if (q->hosts) {
		host->deficit -= bytes;
		gentle_pass_turn(q);
	}

	changed = gentle_measure(q, bytes, backlog);
	if (!sch->q.qlen && q->verdict) {
		q->verdict = 0;
		changed |= gentle_grow(q);
	}
	if (changed)
		gentle_update_limit(q);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static struct sk_buff *gentle_peek(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	const struct gentle_host *host = q->serving;

	return host->waiting ? host->bands[gentle_next(q, host)].head : NULL;
}

static void gentle_reset_host(struct gentle_host *host)
{
	for (int i = 0; i < GENTLE_MAX_BANDS; i++)
		rtnl_kfree_skbs(host->bands[i].head, host->bands[i].tail);
	memset(host, 0, sizeof(*host));
	INIT_LIST_HEAD(&host->turn);
}

static void gentle_reset(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);

	gentle_reset_host(&q->all);
	for (int i = 0; q->hosts && i < GENTLE_HOSTS; i++)
		gentle_reset_host(&q->hosts[i]);
	INIT_LIST_HEAD(&q->new_hosts);
	INIT_LIST_HEAD(&q->old_hosts);
	q->serving = &q->all;
	q->probing = false;
	q->verdict = 0;
	memset(q->sets, 0, q->n_sets * sizeof(*q->sets));
}

/* Options */

static struct netlink_range_validation gentle_limit_range = {
	.min = NSEC_PER_MSEC,
	.max = 10ULL * NSEC_PER_SEC,
};

static struct netlink_range_validation gentle_memory_range = {
	.min = GENTLE_FRAME,
	.max = 1U << 31,
};

static struct netlink_range_validation gentle_first_range = {
	.min = 64,
	.max = 65536,
};

static struct netlink_range_validation gentle_flows_range = {
	.min = GENTLE_WAYS,
	.max = 65536,
};

static const struct nla_policy gentle_policy[TCA_GENTLE_MAX + 1] = {
	[TCA_GENTLE_LIMIT] = NLA_POLICY_FULL_RANGE(NLA_U64, &gentle_limit_range),
	[TCA_GENTLE_MEMORY_LIMIT] =
		NLA_POLICY_FULL_RANGE(NLA_U32, &gentle_memory_range),
	[TCA_GENTLE_BANDS] = NLA_POLICY_RANGE(NLA_U32, 2, GENTLE_MAX_BANDS),
	[TCA_GENTLE_FIRST] = NLA_POLICY_FULL_RANGE(NLA_U32, &gentle_first_range),
	[TCA_GENTLE_WEIGHT] = NLA_POLICY_RANGE(NLA_U32, 1, 1000),
	[TCA_GENTLE_FORGIVE] = NLA_POLICY_MAX(NLA_U32, 1000),
	[TCA_GENTLE_FLOWS] = NLA_POLICY_FULL_RANGE(NLA_U32, &gentle_flows_range),
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
		p->limit = nla_get_u64(tb[TCA_GENTLE_LIMIT]);
	if (tb[TCA_GENTLE_MEMORY_LIMIT])
		p->memory_limit = nla_get_u32(tb[TCA_GENTLE_MEMORY_LIMIT]);
	if (tb[TCA_GENTLE_BANDS])
		p->bands = nla_get_u32(tb[TCA_GENTLE_BANDS]);
	if (tb[TCA_GENTLE_FIRST])
		p->first = nla_get_u32(tb[TCA_GENTLE_FIRST]);
	if (tb[TCA_GENTLE_WEIGHT])
		p->weight = nla_get_u32(tb[TCA_GENTLE_WEIGHT]);
	if (tb[TCA_GENTLE_FORGIVE])
		p->forgive = nla_get_u32(tb[TCA_GENTLE_FORGIVE]);
	if (tb[TCA_GENTLE_FLOWS])
		p->flows = nla_get_u32(tb[TCA_GENTLE_FLOWS]);
	if (tb[TCA_GENTLE_ECN])
		p->ecn = nla_get_u32(tb[TCA_GENTLE_ECN]);
	if (tb[TCA_GENTLE_HOSTS])
		p->hosts = nla_get_u32(tb[TCA_GENTLE_HOSTS]);
	return 0;
}

/* Installs new parameters. A change of the limit starts its adaptation anew. */
static void gentle_adopt(struct gentle_sched_data *q,
			 const struct gentle_params *new)
{
	if (q->params.limit != new->limit) {
		q->room = new->limit;
		q->verdict = 0;
	}
	q->params = *new;
	q->ages.oldest = min_t(u64, (u64)new->first << new->bands,
			       GENTLE_OLDEST);
	gentle_update_limit(q);
}

static struct gentle_host *gentle_alloc_hosts(void)
{
	struct gentle_host *hosts = kvcalloc(GENTLE_HOSTS, sizeof(*hosts),
					     GFP_KERNEL);

	for (int i = 0; hosts && i < GENTLE_HOSTS; i++)
		INIT_LIST_HEAD(&hosts[i].turn);
	return hosts;
}

static int gentle_change(struct Qdisc *sch, struct nlattr *opt,
			 struct netlink_ext_ack *extack)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct gentle_params new = q->params;
	struct sk_buff *to_free = NULL;
	struct gentle_host *hosts = NULL;
	struct gentle_set *sets = NULL;
	u32 n_sets;
	int err;

	err = gentle_parse(&new, opt, extack);
	if (err)
		return err;
	n_sets = DIV_ROUND_UP(new.flows, GENTLE_WAYS);
	if (n_sets != q->n_sets) {
		sets = kvcalloc(n_sets, sizeof(*sets), GFP_KERNEL);
		if (!sets)
			return -ENOMEM;
	}
	if (new.hosts && !q->hosts) {
		hosts = gentle_alloc_hosts();
		if (!hosts) {
			kvfree(sets);
			return -ENOMEM;
		}
	}

	sch_tree_lock(sch);
	if (sets) {
		swap(sets, q->sets);
		q->n_sets = n_sets;
	}
	if (hosts) {
		q->hosts = hosts;
		/* What waits takes turns with them. */
		if (q->all.waiting)
			gentle_give_turn(q, &q->all);
	}
	gentle_adopt(q, &new);
	gentle_make_room(sch, NULL, &to_free, ktime_get_ns());
	gentle_pass_turn(q);
	sch_tree_unlock(sch);
	kfree_skb_list(to_free);
	kvfree(sets);
	return 0;
}

static int gentle_init(struct Qdisc *sch, struct nlattr *opt,
		       struct netlink_ext_ack *extack)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct gentle_params params = {
		.limit		= 140 * NSEC_PER_MSEC,
		.memory_limit	= 32 << 20,
		.bands		= 10,
		.first		= 2048,
		.weight		= 16,
		.forgive	= 75,
		.flows		= 512,
		.ecn		= true,
	};

	if (opt) {
		int err = gentle_parse(&params, opt, extack);

		if (err)
			return err;
	}
	INIT_LIST_HEAD(&q->all.turn);
	INIT_LIST_HEAD(&q->new_hosts);
	INIT_LIST_HEAD(&q->old_hosts);
	q->serving = &q->all;
	get_random_bytes(q->keys, sizeof(q->keys));
	q->n_sets = DIV_ROUND_UP(params.flows, GENTLE_WAYS);
	q->sets = kvcalloc(q->n_sets, sizeof(*q->sets), GFP_KERNEL);
	if (!q->sets)
		return -ENOMEM;
	if (params.hosts) {
		q->hosts = gentle_alloc_hosts();
		if (!q->hosts)
			return -ENOMEM;
	}
	gentle_adopt(q, &params);
	return 0;
}

static void gentle_destroy(struct Qdisc *sch)
{
	struct gentle_sched_data *q = qdisc_priv(sch);

	kvfree(q->sets);
	kvfree(q->hosts);
}

static int gentle_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct gentle_params p;
	struct nlattr *opts;

	sch_tree_lock(sch);
	p = q->params;
	sch_tree_unlock(sch);

	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, TCA_GENTLE_LIMIT, p.limit, TCA_GENTLE_PAD) ||
	    nla_put_u32(skb, TCA_GENTLE_MEMORY_LIMIT, p.memory_limit) ||
	    nla_put_u32(skb, TCA_GENTLE_BANDS, p.bands) ||
	    nla_put_u32(skb, TCA_GENTLE_FIRST, p.first) ||
	    nla_put_u32(skb, TCA_GENTLE_WEIGHT, p.weight) ||
	    nla_put_u32(skb, TCA_GENTLE_FORGIVE, p.forgive) ||
	    nla_put_u32(skb, TCA_GENTLE_FLOWS, p.flows) ||
	    nla_put_u32(skb, TCA_GENTLE_ECN, p.ecn) ||
	    nla_put_u32(skb, TCA_GENTLE_HOSTS, p.hosts)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static int gentle_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct gentle_sched_data *q = qdisc_priv(sch);
	struct tc_gentle_xstats st = {};

	sch_tree_lock(sch);
	st.push_out = q->push_out;
	st.ecn_mark = q->ecn_mark;
	st.rate = q->rate;
	st.room_ns = q->room;
	st.limit_bytes = q->limit_bytes;
	st.share = q->ages.share;
	for (int i = 0; i < GENTLE_MAX_BANDS; i++) {
		st.backlog[i] = q->all.bands[i].bytes;
		for (int j = 0; q->hosts && j < GENTLE_HOSTS; j++)
			st.backlog[i] += q->hosts[j].bands[i].bytes;
	}
	sch_tree_unlock(sch);

	return gnet_stats_copy_app(d, &st, sizeof(st));
}

static struct Qdisc_ops gentle_qdisc_ops __read_mostly = {
	.id		= "gentle",
	.priv_size	= sizeof(struct gentle_sched_data),
	.enqueue	= gentle_enqueue,
	.dequeue	= gentle_dequeue,
	.peek		= gentle_peek,
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
	return register_qdisc(&gentle_qdisc_ops);
}

static void __exit gentle_module_exit(void)
{
	unregister_qdisc(&gentle_qdisc_ops);
}

module_init(gentle_module_init)
module_exit(gentle_module_exit)

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Bands by age (gentle) qdisc");
