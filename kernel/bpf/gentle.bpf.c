// SPDX-License-Identifier: GPL-2.0-only
/*
 * gentle: bands by age, as a qdisc in BPF, with a shaper
 *
 * The queue is that of sch_gentle.c with its default options and noecn: a BPF
 * qdisc may read packets, not write to them. A BPF qdisc can only be the root of
 * a device, or a child of mq, so that it needs a shaper of its own. Linux 6.16
 * is the first that has BPF qdiscs.
 *
 * The objects gentle.bpfel.o and gentle.bpfeb.o are made from this file by
 * ./build, and are part of the source. gentle-bpf loads and attaches them.
 */

#include "program.h"
#include "../ages.h"

#define __kernel __attribute__((preserve_access_index))
#define __ksym __attribute__((section(".ksyms")))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __contains(type, member) \
	__attribute__((btf_decl_tag("contains:" #type ":" #member)))
/* Names and values of the kernel, and of its structures the members that are
 * used; where they lie is looked up when the program is loaded.
 */

#define NET_XMIT_SUCCESS	0
#define NET_XMIT_DROP		1
#define NET_XMIT_CN		2
#define ENOSPC			28
#define IP_FRAGMENT		0x3fff	/* more fragments, or an offset */
#define NSEC_PER_SEC		1000000000ULL
#define NSEC_PER_MSEC		1000000ULL

struct sk_buff {
	unsigned char	*head;
	unsigned char	*data;
	u16		network_header;
	__be16		protocol;
	char		cb[48];
} __kernel;

struct qdisc_skb_cb {
	unsigned int	pkt_len;
} __kernel;

struct net_device {
	int	ifindex;
} __kernel;

struct netdev_queue {
	struct net_device	*dev;
} __kernel;

struct qdisc_skb_head {
	u32	qlen;
} __kernel;

struct gnet_stats_queue {
	u32	backlog;
	u32	drops;
	u32	overlimits;
} __kernel;

struct Qdisc {
	u32			limit;
	struct netdev_queue	*dev_queue;
	struct qdisc_skb_head	q;
	struct gnet_stats_queue	qstats;
} __kernel;

struct bpf_sk_buff_ptr {
	struct sk_buff	*skb;
} __kernel;

struct __sk_buff {
	u32	len;
} __kernel;

struct Qdisc_ops {
	char	id[16];
	int	(*enqueue)(u64 *ctx);
	struct sk_buff *(*dequeue)(u64 *ctx);
	int	(*init)(u64 *ctx);
	void	(*reset)(u64 *ctx);
	void	(*destroy)(u64 *ctx);
};

/* From linux/bpf.h: that of Debian 12 does not have all of it. */

#define BPF_MAP_TYPE_HASH	1
#define BPF_MAP_TYPE_ARRAY	2

struct bpf_spin_lock {
	u32 val;
};

struct bpf_list_head {
	u64 opaque[2];
};

struct bpf_list_node {
	u64 opaque[3];
};

struct bpf_dynptr {
	u64 opaque[2];
};

struct bpf_iter_num {
	u64 opaque[1];
};

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) =
	(void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static long (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static void *(*const bpf_kptr_xchg)(void *place, void *pointer) = (void *)194;

extern void *bpf_obj_new_impl(u64 local_type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;
extern int bpf_list_push_back_impl(struct bpf_list_head *head,
				   struct bpf_list_node *node, void *meta,
				   u64 off) __ksym;
extern struct bpf_list_node *
bpf_list_pop_front(struct bpf_list_head *head) __ksym;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start,
			    int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *skb, u64 flags,
			       struct bpf_dynptr *to) __ksym;
extern void *bpf_dynptr_slice(const struct bpf_dynptr *from, u64 offset,
			      void *buffer, u64 size) __ksym;
extern u32 bpf_skb_get_hash(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb,
			       struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, u64 expire,
					u64 slack) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch,
				    const struct sk_buff *skb) __ksym;

/* Options of sch_gentle: its defaults. */
#define LIMIT		(140 * NSEC_PER_MSEC)
#define MEMORY_LIMIT	(32U << 20)	/* bytes */
#define BANDS		10
#define FIRST		2048		/* bytes */
#define WEIGHT		16
#define FORGIVE		75		/* percent */
#define SETS		64		/* of GENTLE_WAYS flows */

/* Constants of sch_gentle, which explains them. */
#define FRAME		1514
#define LEAST_LIMIT	(5 * FRAME)
#define PROBE_SHORTEST	NSEC_PER_MSEC
#define PROBE_ENOUGH	(100 * NSEC_PER_MSEC)
#define PROBE_LEAST	(10 * FRAME)
#define REACTION	(500 * NSEC_PER_MSEC)

/* The shaper makes up for timers that are late, up to this. */
#define LATENESS	(5 * NSEC_PER_MSEC)

#define QUEUES		32	/* qdiscs at a time */

struct packet {
	struct bpf_list_node	node;
	struct sk_buff __kptr	*skb;
	u32			bytes;
};

struct band {
	struct bpf_spin_lock	lock;
	struct bpf_list_head	list __contains(packet, node);
	u32			packets;
	u32			bytes;
};

struct set {
	struct gentle_entry	way[GENTLE_WAYS];
};

struct queue {
	u32	in_use;
	u32	waiting;	/* bit i: band i has packets */
	u64	key[2];
	u64	pace;		/* of the shaper, bytes per second; 0: none */
	u64	free_at;	/* time at which it lets the next packet pass */

	struct gentle_ages ages;

	u32	limit_bytes;
	u32	guaranteed;	/* bytes of the oldest band */
	u32	probing;
	s64	due;
	u64	rate;		/* measured, bytes per second; 0: unknown */
	u64	probe_since;
	u64	probe_sent;
	u64	probe_waited;
	u64	room;		/* ns */
	u64	verdict;	/* time; 0: none is due */
	u64	push_out;	/* packets */
};

/* A device's index, and the rate of the shaper on it in bytes per second. */
struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[QUEUES];
	u32 *key;
	u64 *value;
} gentle_rates SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[QUEUES];
	u32 *key;
	struct queue *value;
} gentle_queues SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[QUEUES * BANDS];
	u32 *key;
	struct band *value;
} gentle_bands SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[QUEUES * SETS];
	u32 *key;
	struct set *value;
} gentle_flows SEC(".maps");

/* A qdisc has no memory of its own for BPF: the number of its queue is in limit,
 * which the kernel does not use and lets be written.
 */
static inline struct queue *queue_of(const struct Qdisc *sch)
{
	u32 number = sch->limit;

	return bpf_map_lookup_elem(&gentle_queues, &number);
}

static inline struct band *band_of(const struct Qdisc *sch, u32 band)
{
	u32 number = sch->limit * BANDS + band;

	return bpf_map_lookup_elem(&gentle_bands, &number);
}

/* Flows */

/* The hash of a packet's addresses, ports and protocol; gentle_flow() in
 * sch_gentle.c says why the hash that it brings will not do.
 */
static inline u32 flow_of(const struct queue *q, struct sk_buff *skb)
{
	u64 at = skb->head + skb->network_header - skb->data;
	__be16 protocol = skb->protocol;
	struct bpf_dynptr packet;
	u64 words[5];
	u32 buffer[10], ports_buffer, *ip, *ports;
	u8 next;

	if (protocol != htons(ETH_P_IP) &&
	    protocol != htons(ETH_P_IPV6))
		goto unknown;
	if (bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &packet))
		goto unknown;
	if (protocol == htons(ETH_P_IP)) {
		ip = bpf_dynptr_slice(&packet, at, buffer, 20);
		if (!ip)
			goto unknown;
		next = ((u8 *)ip)[9];
		if (!has_ports(next) ||
		    ((u16 *)ip)[3] & htons(IP_FRAGMENT))
			goto unknown;
		words[0] = (u64)ip[4] << 32 | ip[3];
		ports = bpf_dynptr_slice(&packet, at + (*(u8 *)ip & 15) * 4,
					 &ports_buffer, 4);
		if (!ports)
			goto unknown;
		words[1] = (u64)next << 32 | *ports;
		return siphash_1_3(q->key, words, 2);
	}
	ip = bpf_dynptr_slice(&packet, at, buffer, 40);
	if (!ip)
		goto unknown;
	next = ((u8 *)ip)[6];
	if (!has_ports(next))
		goto unknown;
	for (int i = 0; i < 4; i++)
		words[i] = (u64)ip[3 + 2 * i] << 32 | ip[2 + 2 * i];
	ports = bpf_dynptr_slice(&packet, at + 40, &ports_buffer, 4);
	if (!ports)
		goto unknown;
	words[4] = (u64)next << 32 | *ports;
	return siphash_1_3(q->key, words, 5);
unknown:
	return bpf_skb_get_hash(skb);
}

static inline void read_pace(struct Qdisc *sch, struct queue *q)
{
	u32 device = sch->dev_queue->dev->ifindex;
	u64 *pace = bpf_map_lookup_elem(&gentle_rates, &device);

	q->pace = pace ? *pace : 0;
}

/* Rate of the link, and limit */

static inline u32 bytes_in(const struct queue *q, u64 time)
{
	/* 64 bits are enough for 130 GB/s. */
	u64 bytes = q->rate * time / NSEC_PER_SEC;

	if (!q->rate)
		return MEMORY_LIMIT;
	return min(max(bytes, LEAST_LIMIT), MEMORY_LIMIT);
}

static inline void update_limit(struct queue *q)
{
	q->limit_bytes = bytes_in(q, q->room);
	q->guaranteed = min(bytes_in(q, LIMIT) / (WEIGHT + 1),
			    q->limit_bytes / 3);
}

static inline int measure(struct queue *q, u64 now, u32 bytes, u32 backlog)
{
	u64 time, rate;

	if (!q->probing) {
		if (backlog > PROBE_LEAST) {
			q->probing = 1;
			q->probe_since = now;
			q->probe_sent = bytes;
			q->probe_waited = backlog;
		}
		return 0;
	}
	time = now - q->probe_since;
	if (q->probe_sent + bytes < q->probe_waited &&
	    (time < PROBE_ENOUGH || q->probe_sent < PROBE_LEAST)) {
		q->probe_sent += bytes;
		return 0;
	}
	q->probing = 0;
	if (q->probe_sent < PROBE_LEAST || time < PROBE_SHORTEST)
		return 0;
	rate = q->probe_sent * NSEC_PER_SEC / time;
	q->rate = q->rate ? q->rate - q->rate / 4 + rate / 4 : rate;
	return 1;
}

static inline int grow(struct queue *q)
{
	u64 before = q->room;

	q->room = min(before + before / 2, LIMIT);
	return q->room != before;
}

static inline int judge(struct queue *q, u64 now, int reducible)
{
	u64 before = q->room;

	if (!q->verdict || now < q->verdict)
		return 0;
	q->verdict = 0;
	if (!reducible)
		return grow(q);
	q->room = max(before - before / 8, LIMIT / 10);
	return q->room != before;
}

/* Bands */

/* Numbers of the lowest and highest bit of a set that is not empty. */
static inline u32 lowest(u32 bits)
{
	u32 band = 0;

	for (; band < BANDS - 1; band++)
		if (bits & 1U << band)
			break;
	return band;
}

static inline u32 highest(u32 bits)
{
	u32 band = BANDS - 1;

	for (; band > 0; band--)
		if (bits & 1U << band)
			break;
	return band;
}

static inline void push(struct Qdisc *sch, struct queue *q, struct band *b,
			u32 band, struct packet *packet, u32 bytes)
{
	bpf_spin_lock(&b->lock);
	bpf_list_push_back_impl(&b->list, &packet->node, 0, 0);
	bpf_spin_unlock(&b->lock);
	b->packets++;
	b->bytes += bytes;
	q->waiting |= 1U << band;
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
}

/* The first packet of a band, which is accounted as no longer there. */
static inline struct packet *pop(struct Qdisc *sch, struct queue *q,
				 struct band *b, u32 band)
{
	struct bpf_list_node *node;
	struct packet *packet;

	bpf_spin_lock(&b->lock);
	node = bpf_list_pop_front(&b->list);
	bpf_spin_unlock(&b->lock);
	if (!node) {
		q->waiting &= ~(1U << band);
		return 0;
	}
	packet = (void *)node - __builtin_offsetof(struct packet, node);
	b->packets--;
	b->bytes -= packet->bytes;
	if (!b->packets)
		q->waiting &= ~(1U << band);
	sch->q.qlen--;
	sch->qstats.backlog -= packet->bytes;
	return packet;
}

static inline u32 next_band(const struct queue *q)
{
	if (q->due >= WEIGHT * FRAME)
		return highest(q->waiting);
	return lowest(q->waiting);
}

static inline u32 victim(const struct Qdisc *sch, const struct queue *q)
{
	u32 oldest = highest(q->waiting);
	u32 younger = q->waiting & ~(1U << oldest);
	const struct band *b = band_of(sch, oldest);

	if (b && younger && (b->packets == 1 || b->bytes <= q->guaranteed))
		return highest(younger);
	return oldest;
}

/* Drops packets until the rest fits; new: the band of the one that arrived.
 * Returns 1 if that is among them.
 */
static inline int make_room(struct Qdisc *sch, struct queue *q, u32 new,
			    struct bpf_sk_buff_ptr *to_free, u64 now)
{
	struct bpf_iter_num it;
	int lost = 0;

	bpf_iter_num_new(&it, 0, 1 << 20);
	while (bpf_iter_num_next(&it)) {
		struct packet *packet;
		struct sk_buff *skb;
		struct band *b;
		u32 band;

		if (sch->qstats.backlog <= q->limit_bytes || !q->waiting)
			break;
		if (!q->verdict)
			q->verdict = now + REACTION;
		band = victim(sch, q);
		b = band_of(sch, band);
		if (!b)
			break;
		packet = pop(sch, q, b, band);
		if (!packet)
			continue;
		q->probe_waited -= min(packet->bytes, q->probe_waited);
		q->push_out++;
		/* The new packet is the last of its band. */
		lost |= band == new && !b->packets;
		skb = bpf_kptr_xchg(&packet->skb, 0);
		bpf_obj_drop_impl(packet, 0);
		if (skb)
			bpf_qdisc_skb_drop(skb, to_free);
		sch->qstats.drops++;
		sch->qstats.overlimits++;
	}
	bpf_iter_num_destroy(&it);
	return lost;
}

SEC("struct_ops/gentle_enqueue")
int gentle_enqueue(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct Qdisc *sch = (void *)ctx[1];
	struct bpf_sk_buff_ptr *to_free = (void *)ctx[2];
	u32 bytes = ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
	u64 now = bpf_ktime_get_ns();
	struct queue *q = queue_of(sch);
	u32 hash, number, band;
	struct packet *packet;
	struct band *b;
	struct set *set;

	if (!q)
		goto drop;
	if (gentle_period_is_over(&q->ages, now)) {
		/* It may have been changed. */
		read_pace(sch, q);
		gentle_end_period(&q->ages, now, q->rate, FORGIVE);
	}
	hash = flow_of(q, skb);
	number = sch->limit * SETS + ((u64)hash * SETS >> 32);
	set = bpf_map_lookup_elem(&gentle_flows, &number);
	if (!set)
		goto drop;
	band = gentle_band(gentle_charge(&q->ages, set->way, hash, bytes),
			   FIRST, BANDS);
	b = band_of(sch, band);
	if (!b)
		goto drop;
	packet = bpf_obj_new_impl(__builtin_btf_type_id(*(struct packet *)0, 0),
				  0);
	if (!packet)
		goto drop;
	packet->bytes = bytes;
	skb = bpf_kptr_xchg(&packet->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	/* Idle time is not made up for. */
	if (!q->waiting && q->free_at < now)
		q->free_at = now;
	push(sch, q, b, band, packet, bytes);

	if (judge(q, now, highest(q->waiting) + 2 >= BANDS))
		update_limit(q);
	if (sch->qstats.backlog <= q->limit_bytes)
		return NET_XMIT_SUCCESS;
	return make_room(sch, q, band, to_free, now) ? NET_XMIT_CN :
						       NET_XMIT_SUCCESS;
drop:
	bpf_qdisc_skb_drop(skb, to_free);
	sch->qstats.drops++;
	return NET_XMIT_DROP;
}

/* Returns 1 if the shaper lets a packet pass now. */
static inline int is_due(struct Qdisc *sch, struct queue *q, u64 now)
{
	if (!q->pace)
		return 1;
	if (now < q->free_at) {
		bpf_qdisc_watchdog_schedule(sch, q->free_at, 0);
		return 0;
	}
	return 1;
}

SEC("struct_ops/gentle_dequeue")
struct sk_buff *gentle_dequeue(u64 *ctx)
{
	struct Qdisc *sch = (void *)ctx[0];
	struct queue *q = queue_of(sch);
	u32 backlog = sch->qstats.backlog;
	u64 now = bpf_ktime_get_ns();
	u32 band, oldest, bytes;
	struct packet *packet;
	struct sk_buff *skb;
	struct band *b;
	int changed;

	if (!q || !q->waiting || !is_due(sch, q, now))
		return 0;
	band = next_band(q);
	oldest = highest(q->waiting);
	b = band_of(sch, band);
	if (!b)
		return 0;
	packet = pop(sch, q, b, band);
	if (!packet)
		return 0;
	bytes = packet->bytes;
	skb = bpf_kptr_xchg(&packet->skb, 0);
	bpf_obj_drop_impl(packet, 0);
	if (!skb)
		return 0;

	if (q->pace)
		q->free_at = max(q->free_at, now - LATENESS) +
			     bytes * NSEC_PER_SEC / q->pace;
	if (band < oldest)
		q->due += bytes;
	else
		q->due = max(q->due - (s64)WEIGHT * bytes, 0);
	changed = measure(q, now, bytes, backlog);
	if (!q->waiting && q->verdict) {
		q->verdict = 0;
		changed |= grow(q);
	}
	if (changed)
		update_limit(q);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

SEC("struct_ops/gentle_init")
int gentle_init(u64 *ctx)
{
	struct Qdisc *sch = (void *)ctx[0];
	struct queue *q;
	u32 number;

	for (number = 0; number < QUEUES; number++) {
		q = bpf_map_lookup_elem(&gentle_queues, &number);
		if (q && !__sync_val_compare_and_swap(&q->in_use, 0, 1))
			break;
	}
	if (number == QUEUES || !q)
		return -ENOSPC;
	sch->limit = number;
	for (int i = 0; i < 2; i++)
		q->key[i] = (u64)bpf_get_prandom_u32() << 32 |
			    bpf_get_prandom_u32();
	q->free_at = 0;
	q->ages.oldest = min((u64)FIRST << BANDS, GENTLE_OLDEST);
	q->ages.period_ends = 0;
	q->ages.unindebted_bytes = 0;
	q->ages.indebted = 0;
	q->rate = 0;
	q->push_out = 0;
	q->room = LIMIT;
	update_limit(q);
	read_pace(sch, q);
	return 0;
}

SEC("struct_ops/gentle_reset")
void gentle_reset(u64 *ctx)
{
	struct Qdisc *sch = (void *)ctx[0];
	struct queue *q = queue_of(sch);
	struct bpf_iter_num it;
	u32 number;

	if (!q)
		return;
	bpf_iter_num_new(&it, 0, 1 << 23);
	while (q->waiting && bpf_iter_num_next(&it)) {
		u32 band = lowest(q->waiting);
		struct band *b = band_of(sch, band);
		struct packet *packet;

		if (!b)
			break;
		packet = pop(sch, q, b, band);
		/* The packet of the network is freed with it. */
		if (packet)
			bpf_obj_drop_impl(packet, 0);
	}
	bpf_iter_num_destroy(&it);
	q->due = 0;
	q->probing = 0;
	q->verdict = 0;
	for (int i = 0; i < SETS; i++) {
		struct set *set;

		number = sch->limit * SETS + i;
		set = bpf_map_lookup_elem(&gentle_flows, &number);
		if (set)
			__builtin_memset(set, 0, sizeof(*set));
	}
}

SEC("struct_ops/gentle_destroy")
void gentle_destroy(u64 *ctx)
{
	struct Qdisc *sch = (void *)ctx[0];
	struct queue *q = queue_of(sch);

	if (q)
		q->in_use = 0;
}

SEC(".struct_ops")
struct Qdisc_ops gentle = {
	.id		= "gentle_bpf",
	.enqueue	= gentle_enqueue,
	.dequeue	= gentle_dequeue,
	.init		= gentle_init,
	.reset		= gentle_reset,
	.destroy	= gentle_destroy,
};

char _license[] SEC("license") = "GPL";
