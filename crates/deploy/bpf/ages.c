// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Classifier of the scheme age_prio: keeps the ages of flows, and returns the
 * class of a packet's band, 1 for the youngest.
 *
 * The law is kernel/ages.h, as for the module and the qdisc in BPF. But a
 * classifier does not see packets leave, so that it cannot measure the rate of
 * the link. The largest number of bytes that arrived in a period stands for it.
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

#include "../../../kernel/bpf/program.h"
#include "../../../kernel/ages.h"

static long (*const bpf_get_hash_recalc)(struct __sk_buff *skb) =
	(void *)BPF_FUNC_get_hash_recalc;
static void (*const bpf_set_hash_invalid)(struct __sk_buff *skb) =
	(void *)BPF_FUNC_set_hash_invalid;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static u32 (*const bpf_get_prandom_u32)(void) =
	(void *)BPF_FUNC_get_prandom_u32;
static long (*const bpf_skb_load_bytes_relative)(struct __sk_buff *skb,
						 u32 offset, void *to, u32 len,
						 u32 start_header) =
	(void *)BPF_FUNC_skb_load_bytes_relative;
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) =
	(void *)BPF_FUNC_map_lookup_elem;

#define SETS		64

/* gentle writes its values here (crates/deploy/src/ages.rs). */
struct params {
	u32 first;	/* age at which the youngest band ends, bytes */
	u32 bands;
	u32 oldest;	/* largest age, bytes */
	u32 forgive;	/* percent */
};

const volatile struct params params = {
	.first = 2048,
	.bands = 10,
	.oldest = 1 << 21,
	.forgive = 75,
};

struct set {
	struct gentle_entry way[GENTLE_WAYS];
};

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[SETS];
	u32 *key;
	struct set *value;
} flows SEC(".maps");

struct {
	struct gentle_ages ages;
	u64 arrived;	/* bytes in this period */
	u64 peak;	/* bytes in a period */
	u64 key[2];	/* of the hash of flows with a label */
} state;

/* The hash of a packet's addresses, ports and protocol.
 *
 * Not the one that it brings: when a sender times out, it gives its packets
 * another one, and another flow label of IPv6, which the kernel's dissector takes
 * in place of the ports. Its flow would be young again.
 */
static inline u32 flow_of(struct __sk_buff *skb)
{
	u32 ip[10], ports;
	u64 words[5];
	u8 next;

	if (skb->protocol != htons(ETH_P_IPV6) ||
	    bpf_skb_load_bytes_relative(skb, 0, ip, sizeof(ip),
					BPF_HDR_START_NET))
		goto without_label;
	next = ((u8 *)ip)[6];
	if (!(ip[0] & htonl(0xfffff)) || !has_ports(next) ||
	    bpf_skb_load_bytes_relative(skb, sizeof(ip), &ports, sizeof(ports),
					BPF_HDR_START_NET))
		goto without_label;
	for (int i = 0; i < 4; i++)
		words[i] = (u64)ip[3 + 2 * i] << 32 | ip[2 + 2 * i];
	words[4] = (u64)next << 32 | ports;
	return siphash_1_3(state.key, words, 5);
without_label:
	bpf_set_hash_invalid(skb);
	return bpf_get_hash_recalc(skb);
}

static inline void end_period(u64 now)
{
	/* A link that was busy minutes ago still has that rate. */
	state.peak = max(state.peak - state.peak / 64, state.arrived);
	state.arrived = 0;
	state.ages.oldest = params.oldest;
	if (!state.ages.period_ends)
		for (int i = 0; i < 2; i++)
			state.key[i] = (u64)bpf_get_prandom_u32() << 32 |
				       bpf_get_prandom_u32();
	gentle_end_period(&state.ages, now, state.peak, params.forgive);
}

SEC("classifier")
int gentle_ages(struct __sk_buff *skb)
{
	u32 bytes = skb->wire_len, hash, number;
	u64 now = bpf_ktime_get_ns();
	struct set *set;

	if (gentle_period_is_over(&state.ages, now))
		end_period(now);
	state.arrived += bytes;

	hash = flow_of(skb);
	number = (u64)hash * SETS >> 32;
	set = bpf_map_lookup_elem(&flows, &number);
	if (!set)
		return 1;

	return 1 + gentle_band(gentle_charge(&state.ages, set->way, hash, bytes),
			       params.first, params.bands);
}

char _license[] SEC("license") = "Dual MIT/GPL";
