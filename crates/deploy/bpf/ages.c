// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Classifier of the scheme age_prio: keeps the ages of flows, and returns the
 * class of a packet's band, 1 for the youngest.
 *
 * The law is that of crates/aqm/src/laws/flow_ages.rs and kernel/sch_gentle.c,
 * with one difference: a classifier does not see packets leave, so that it
 * cannot measure the rate of the link. The largest number of bytes that arrived
 * in a period stands for it.
 *
 * A qdisc classifies packets with its root's lock held: two processors never
 * run this for one queue at the same time.
 *
 * The object ages.bpfel.o or ages.bpfeb.o is made from this file by ./build, and
 * is part of the source: no compiler for BPF is needed to build gentle. Loading
 * it needs Linux 5.3 (loops) and a tc with libbpf (maps described by BTF,
 * constants in .rodata).
 */

#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))

static long (*const bpf_get_hash_recalc)(struct __sk_buff *skb) =
	(void *)BPF_FUNC_get_hash_recalc;
static void (*const bpf_set_hash_invalid)(struct __sk_buff *skb) =
	(void *)BPF_FUNC_set_hash_invalid;
static __u64 (*const bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) =
	(void *)BPF_FUNC_map_lookup_elem;

#define PERIOD		1000000000ULL	/* ns */
#define EXPIRY		1024		/* periods */
#define PERIODS		0x7fff		/* largest number of one */
#define SETS		64
#define WAYS		8
#define MOST_BANDS	15

/* gentle writes its values here (crates/deploy/src/ages.rs). */
struct params {
	__u32 first;	/* age at which the youngest band ends, bytes */
	__u32 bands;
	__u32 oldest;	/* largest age, bytes */
	__u32 forgive;	/* percent */
};

const volatile struct params params = {
	.first = 2048,
	.bands = 10,
	.oldest = 1 << 21,
	.forgive = 75,
};

struct flow {
	__u16 tag;
	__u16 sent;	/* period of the last packet, times two; in debt? */
	__u32 paid;	/* value of forgiven at which the age is zero */
};

struct set {
	struct flow way[WAYS];
};

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[SETS];
	__u32 *key;
	struct set *value;
} flows SEC(".maps");

struct {
	__u64 ends;		/* time; 0: no packet so far */
	__u64 arrived;		/* bytes in this period */
	__u64 peak;		/* bytes in a period */
	__u64 unindebted_bytes;	/* in this period, of flows not in debt */
	__u32 indebted;		/* flows whose age was not zero in it at first */
	__u32 forgiven;		/* sum over the periods */
	__u16 period;
} state;

static inline __u32 age(const struct flow *flow)
{
	__s32 left = flow->paid - state.forgiven;

	if (left <= 0 || ((state.period - (flow->sent >> 1)) & PERIODS) > EXPIRY)
		return 0;
	return left;
}

static inline void end_period(__u64 now)
{
	__u64 periods, share;

	if (!state.ends) {
		state.ends = now + PERIOD;
		return;
	}
	periods = 1 + (now - state.ends) / PERIOD;
	state.ends += periods * PERIOD;

	/* A link that was busy minutes ago still has that rate. */
	state.peak -= state.peak / 64;
	if (state.peak < state.arrived)
		state.peak = state.arrived;
	state.arrived = 0;

	/* The peak is at least what has arrived in this period. */
	share = state.peak - state.unindebted_bytes;
	if (state.indebted)
		share /= state.indebted;
	share = share * params.forgive / 100;
	if (share > params.oldest)
		share = params.oldest;
	state.forgiven += share * (periods < EXPIRY ? periods : EXPIRY);
	state.period = (state.period + periods) & PERIODS;
	state.indebted = 0;
	state.unindebted_bytes = 0;
}

/* Returns the age of the flow before this packet, and adds the packet. */
static inline __u32 charge(struct set *set, __u16 tag, __u32 bytes)
{
	__u32 before, after, least = -1;
	struct flow *flow = &set->way[0];
	__u16 indebted;

	/* The flow's entry, else the one that is the least loss. */
	for (int i = 0; i < WAYS; i++) {
		struct flow *way = &set->way[i];
		__u32 its = age(way);

		if (its && way->tag == tag) {
			flow = way;
			least = its;
			break;
		}
		if (its < least) {
			flow = way;
			least = its;
		}
	}
	before = flow->tag == tag ? least : 0;
	if (flow->tag == tag && flow->sent >> 1 == state.period) {
		indebted = flow->sent & 1;
	} else {
		indebted = before > 0;
		state.indebted += indebted;
	}
	if (!indebted)
		state.unindebted_bytes += bytes;
	after = before + bytes;
	if (after > params.oldest)
		after = params.oldest;
	flow->tag = tag;
	flow->sent = state.period << 1 | indebted;
	flow->paid = state.forgiven + after;
	return before;
}

SEC("classifier")
int gentle_ages(struct __sk_buff *skb)
{
	__u32 bytes = skb->wire_len, hash, number, units, band;
	__u64 now = bpf_ktime_get_ns();
	struct set *set;

	if (!state.ends || now >= state.ends)
		end_period(now);
	state.arrived += bytes;

	/* A local sender gives its packets another hash when it times out. */
	bpf_set_hash_invalid(skb);
	hash = bpf_get_hash_recalc(skb);
	number = (__u64)hash * SETS >> 32;
	set = bpf_map_lookup_elem(&flows, &number);
	if (!set)
		return 1;

	units = charge(set, hash, bytes) / params.first;
	for (band = 1; band < MOST_BANDS; band++) {
		if (!units || band >= params.bands)
			break;
		units >>= 1;
	}
	return band;
}

char _license[] SEC("license") = "Dual MIT/GPL";
