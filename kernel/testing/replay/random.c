// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inputs of a qdisc of user-mode Linux: random numbers from a seed, for RED,
 * PIE, CHOKe and CAKE, and hashes from the schedule: of flows for SFQ and of
 * hosts for CAKE.
 *
 * The qdiscs under test are the kernel's own, as built; their calls of the random generator are redirected to this file.
 * The first instructions of functions of the kernel become a jump. User-mode Linux is an ordinary process of its
 * host, so that its text is made writable by the host's mprotect.
 *
 * The numbers are xoshiro256++ (Blackman and Vigna 2018), its state filled by SplitMix64.
 */
#include <linux/irqflags.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/flow_dissector.h>
#include <net/ipv6.h>
#include "replay.h"

#if !defined(CONFIG_UML) || !defined(CONFIG_64BIT)
#error "the text of the kernel can be changed in 64-bit user-mode Linux only"
#endif

#define HOST_MPROTECT	10	/* the system call's number on x86-64 */
#define HOST_READ_WRITE_EXEC	7

/* movabs $target,%rax; jmp *%rax */
#define JUMP_LEN	12

struct redirection {
	void *from;
	void *to;
	u8 text[JUMP_LEN];	/* what was there */
};

static u64 state[4];
static u64 others;
static bool asked_by_qdisc;
static bool redirected;
static u32 flow_hash, source_hash, destination_hash;

static u64 splitmix(u64 *counter)
{
	u64 z = *counter += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static u64 xoshiro(void)
{
	u64 result = rol64(state[0] + state[3], 23) + state[0];
	u64 t = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= t;
	state[3] = rol64(state[3], 45);
	return result;
}

/* The rest of the kernel gets numbers of another sequence. */
static u64 next(void)
{
	return asked_by_qdisc ? xoshiro() : splitmix(&others);
}

static u32 seeded_u32(void)
{
	return next() >> 32;
}

static u16 seeded_u16(void)
{
	return next() >> 48;
}

static void seeded_bytes(void *buf, size_t len)
{
	while (len) {
		u64 number = next();
		size_t n = min(len, sizeof(number));

		memcpy(buf, &number, n);
		buf += n;
		len -= n;
	}
}

static u32 given_hash(const struct sk_buff *skb, const siphash_key_t *perturb)
{
	return skb->hash;
}

/* sch_gentle hashes flows of TCP and UDP itself. */
static u32 given_hash_of_words(u32 a, u32 b, u32 c, const hsiphash_key_t *key)
{
	return asked_by_qdisc ? flow_hash : jhash_3words(a, b, c, 0);
}

static u32 given_hash_of_bytes(const void *data, size_t len, const hsiphash_key_t *key)
{
	return asked_by_qdisc ? flow_hash : jhash(data, len, 0);
}

/* For hosts, CAKE and sch_gentle leave only one of the addresses in the keys. */
static u32 given_hash_of_keys(struct flow_keys *keys)
{
	bool source, destination;

	if (!asked_by_qdisc)
		return jhash(keys, sizeof(*keys), 0);
	if (keys->control.addr_type == FLOW_DISSECTOR_KEY_IPV6_ADDRS) {
		source = !ipv6_addr_any(&keys->addrs.v6addrs.src);
		destination = !ipv6_addr_any(&keys->addrs.v6addrs.dst);
	} else {
		source = keys->addrs.v4addrs.src;
		destination = keys->addrs.v4addrs.dst;
	}
	if (source == destination)
		return flow_hash;
	return source ? source_hash : destination_hash;
}

static struct redirection redirections[] = {
	{ .from = get_random_u16, .to = seeded_u16 },
	{ .from = get_random_u32, .to = seeded_u32 },
	{ .from = get_random_bytes, .to = seeded_bytes },
	{ .from = skb_get_hash_perturb, .to = given_hash },
	{ .from = hsiphash_3u32, .to = given_hash_of_words },
#ifndef CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS
	{ .from = __hsiphash_aligned, .to = given_hash_of_bytes },
#endif
	{ .from = __hsiphash_unaligned, .to = given_hash_of_bytes },
	{ .from = flow_hash_from_keys, .to = given_hash_of_keys },
};

static int make_writable(void *text)
{
	unsigned long start = (unsigned long)text & PAGE_MASK;
	unsigned long len = PAGE_ALIGN((unsigned long)text + JUMP_LEN) - start;
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "0"(HOST_MPROTECT), "D"(start), "S"(len), "d"(HOST_READ_WRITE_EXEC)
		     : "rcx", "r11", "memory");
	return ret;
}

int replay_redirect(void)
{
	unsigned long flags;
	int i, err;

	if (redirected)
		return 0;
	for (i = 0; i < ARRAY_SIZE(redirections); i++) {
		err = make_writable(redirections[i].from);
		if (err)
			return err;
	}
	local_irq_save(flags);
	for (i = 0; i < ARRAY_SIZE(redirections); i++) {
		struct redirection *r = &redirections[i];
		u8 jump[JUMP_LEN] = { 0x48, 0xb8, [10] = 0xff, [11] = 0xe0 };
		u64 to = (unsigned long)r->to;

		memcpy(jump + 2, &to, sizeof(to));
		memcpy(r->text, r->from, JUMP_LEN);
		memcpy(r->from, jump, JUMP_LEN);
	}
	local_irq_restore(flags);
	redirected = true;
	return 0;
}

void replay_restore(void)
{
	unsigned long flags;
	int i;

	if (!redirected)
		return;
	local_irq_save(flags);
	for (i = 0; i < ARRAY_SIZE(redirections); i++)
		memcpy(redirections[i].from, redirections[i].text, JUMP_LEN);
	local_irq_restore(flags);
	redirected = false;
}

void replay_seed(u64 seed, u32 skip)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(state); i++)
		state[i] = splitmix(&seed);
	while (skip--)
		xoshiro();
}

void replay_hashes(const struct replay_request *request)
{
	flow_hash = request->hash;
	source_hash = request->source_hash;
	destination_hash = request->destination_hash;
}

void replay_enter(void)
{
	asked_by_qdisc = true;
}

void replay_leave(void)
{
	asked_by_qdisc = false;
}
