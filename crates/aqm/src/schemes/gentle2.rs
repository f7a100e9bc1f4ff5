//! Prototype.

use crate::laws::codel::{self as codel_law, Config as CodelConfig};
use crate::plumbing::arena::{Arena, Chain};
use crate::plumbing::flow_hash::FlowHash;
use crate::plumbing::options::{Kind, OptionSpec};
use crate::plumbing::packet::Packet;
use crate::plumbing::qdisc::{Dequeue, DropReason, MarkReason, Qdisc, Signals};
use crate::plumbing::scheme::Scheme;
use crate::plumbing::spec::Spec;
use gentle_units::{Instant, Nanos};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const fn count(name: &'static str, most: u64, default: &'static str) -> OptionSpec {
    OptionSpec {
        name,
        kind: Kind::Count(0, most),
        default: Some(default),
        help: "prototype",
    }
}

/// Prototype.
pub static SCHEME: Scheme = Scheme {
    name: "gentle2",
    summary: "prototype",
    source: "none",
    options: &[
        codel_law::TARGET,
        codel_law::INTERVAL,
        count("levels", 20, "11"),
        count("first", 1 << 20, "1514"),
        count("share", 100, "15"),
        count("depth", 1 << 30, "262144"),
        count("reserve", 200, "100"),
        count("idle", 1000, "100"),
        count("active", 1000, "0"),
        count("expire", 1_000_000, "2000"),
        count("exempt", 1 << 30, "0"),
        count("ways", 8, "8"),
        count("base", 20, "4"),
        count("wide", 100, "50"),
        count("ratio", 1000, "30"),
        count("period", 1 << 20, "512"),
        count("own", 100, "2"),
        count("crowd", 100000, "64"),
        count("crowd2", 100000, "64"),
        count("order", 2, "0"),
        OptionSpec {
            name: "relist",
            kind: Kind::Flag,
            default: Some("off"),
            help: "x",
        },
        count("lease", 100000, "0"),
        count("grace", 100000, "30"),
        count("ygrace", 100000, "100000"),
        count("least", 100000, "8"),
        count("weight", 100000, "0"),
        count("refill", 1000, "0"),
        count("packets", 1 << 30, "10240"),
        OptionSpec {
            name: "ecn",
            kind: Kind::Flag,
            default: Some("on"),
            help: "x",
        },
    ],
    drops: &[DropReason::Aqm, DropReason::Overlimit],
    marks: &[MarkReason::Aqm, MarkReason::CeThreshold],
    ..Scheme::PLAIN
};

pub(crate) fn build<P: Packet + Send + 'static>(spec: &Spec, seed: u64) -> Box<dyn Qdisc<P>> {
    let o = spec.options();
    let hash = FlowHash::draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    let config = CodelConfig {
        target: o.time("target"),
        interval: o.time("interval"),
        ce_threshold: None,
        ecn: o.flag("ecn"),
    };
    let levels = o.count("levels") as usize;
    Box::new(Gentle2 {
        params: config.into(),
        hash,
        arena: Arena::default(),
        flows: vec![Flow::default(); 1024].into_boxed_slice(),
        backlogs: vec![0; 1024].into_boxed_slice(),
        lists: vec![
            List {
                head: NONE,
                tail: NONE
            };
            levels + 2
        ]
        .into_boxed_slice(),
        levels,
        first: o.count("first") as u32,
        share: o.count("share") as i64,
        depth: o.count("depth") as i64,
        reserve: o.count("reserve") as i64,
        idle: o.count("idle"),
        active: o.count("active"),
        expire: Nanos::from_millis(o.count("expire")),
        exempt: o.count("exempt") as u32,
        relist: o.flag("relist"),
        order: o.count("order"),
        crowd: o.count("crowd"),
        crowd2: o.count("crowd2"),
        lease: Nanos::from_millis(o.count("lease")),
        least: o.count("least"),
        ygrace: Nanos::from_millis(o.count("ygrace")),
        grace: Nanos::from_millis(o.count("grace")),
        weight: o.count("weight") as i64,
        due: 0,
        own: o.count("own"),
        base: o.count("base") as usize,
        wide: o.count("wide") as i64,
        ratio: o.count("ratio"),
        period: o.count("period"),
        n: [0; 24],
        b_old: 0,
        cut: (o.count("base") as usize).min(levels),
        ways: o.count("ways") as usize,
        refill: o.count("refill") as i64,
        limit: o.count("packets") as usize,
        budget: o.count("depth") as i64,
        virt: 0,
        listed: 0,
        packets: 0,
        bytes: 0,
        last_empty: Instant::ZERO,
    })
}

const NONE: u32 = u32::MAX;
const QUANTUM: i64 = 1514;

#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

#[derive(Debug, Clone, Copy)]
struct Flow {
    chain: Chain,
    law: codel_law::Codel,
    deficit: i64,
    next: u32,
    prev: u32,
    list: u32,
    age: u32,
    stamp: u64,
    last: Instant,
    tag: u32,
    shared: bool,
    held: u32,
    total: u32,
}
impl Default for Flow {
    fn default() -> Flow {
        Flow {
            chain: Chain::default(),
            law: codel_law::Codel::default(),
            deficit: 0,
            next: NONE,
            prev: NONE,
            list: NONE,
            age: 0,
            stamp: 0,
            last: Instant::ZERO,
            tag: 0,
            shared: false,
            held: 0,
            total: 0,
        }
    }
}

#[derive(Debug)]
struct Gentle2<P> {
    params: codel_law::Params,
    hash: FlowHash,
    arena: Arena<P>,
    flows: Box<[Flow]>,
    backlogs: Box<[u64]>,
    /// 0: new; 1..=levels: young; levels+1: old.
    lists: Box<[List]>,
    levels: usize,
    first: u32,
    share: i64,
    depth: i64,
    reserve: i64,
    idle: u64,
    active: u64,
    expire: Nanos,
    exempt: u32,
    refill: i64,
    relist: bool,
    order: u64,
    crowd: u64,
    crowd2: u64,
    lease: Nanos,
    grace: Nanos,
    least: u64,
    ygrace: Nanos,
    weight: i64,
    due: i64,
    own: u64,
    base: usize,
    wide: i64,
    ratio: u64,
    period: u64,
    n: [u64; 24],
    b_old: u64,
    cut: usize,
    ways: usize,
    limit: usize,
    budget: i64,
    virt: u64,
    listed: u64,
    packets: usize,
    bytes: u64,
    last_empty: Instant,
}

struct Q<'a, P> {
    arena: &'a mut Arena<P>,
    chain: &'a mut Chain,
    backlog: &'a mut u64,
    packets: &'a mut usize,
    bytes: &'a mut u64,
    young: bool,
    own: u64,
    left: u32,
}
impl<P: Packet> codel_law::Source<P> for Q<'_, P> {
    fn pop(&mut self) -> Option<P> {
        let p = self.arena.pop_front(self.chain)?;
        *self.backlog -= u64::from(p.bytes());
        *self.packets -= 1;
        self.left -= 1;
        *self.bytes -= u64::from(p.bytes());
        Some(p)
    }
    fn backlog(&self) -> u64 {
        if self.young {
            0
        } else if self.own > 0 {
            if u64::from(self.left) < self.own {
                0
            } else {
                *self.bytes
            }
        } else {
            *self.bytes
        }
    }
}

impl<P: Packet> Gentle2<P> {
    fn push_list(&mut self, list: usize, flow: usize) {
        self.flows[flow].next = NONE;
        self.flows[flow].list = list as u32;
        let l = &mut self.lists[list];
        self.flows[flow].prev = if l.head == NONE { NONE } else { l.tail };
        if l.head == NONE {
            l.head = flow as u32
        } else {
            self.flows[l.tail as usize].next = flow as u32
        }
        l.tail = flow as u32;
    }
    fn pop_list(&mut self, list: usize) -> usize {
        let f = self.lists[list].head as usize;
        self.unlink(f);
        f
    }
    fn unlink(&mut self, f: usize) {
        let (list, next, prev) = (
            self.flows[f].list as usize,
            self.flows[f].next,
            self.flows[f].prev,
        );
        if prev == NONE {
            self.lists[list].head = next
        } else {
            self.flows[prev as usize].next = next
        }
        if next == NONE {
            self.lists[list].tail = prev
        } else {
            self.flows[next as usize].prev = prev
        }
    }
    fn place(&mut self, now: Instant, flow: u64) -> usize {
        let hash = self.hash.value(flow);
        if self.ways == 1 {
            return (hash % 1024) as usize;
        }
        let tag = hash | 1;
        let home = (hash >> 8) as usize % 1024;
        if self.flows[home].tag == tag {
            return home;
        }
        let base = home / self.ways * self.ways;
        let set = base..base + self.ways;
        if let Some(at) = set.clone().find(|at| self.flows[*at].tag == tag) {
            return at;
        }
        if self.flows[home].shared {
            return home;
        }
        let free = set
            .filter(|at| {
                (self.listed < self.crowd || *at == home)
                    && self.flows[*at].list == NONE
                    && now.saturating_since(self.flows[*at].last) >= self.lease
            })
            .min_by_key(|at| self.flows[*at].last);
        match free {
            Some(at) => {
                self.flows[at].tag = tag;
                self.flows[at].age = 0;
                self.flows[at].total = 0;
                at
            }
            None => {
                self.flows[home].shared = true;
                home
            }
        }
    }
    fn old(&self) -> usize {
        self.levels + 1
    }
    /// The list of a flow of that age, and bytes until it leaves it.
    fn level(&self, age: u32) -> (usize, i64) {
        let mut bound = self.first;
        for k in 1..=self.cut {
            if age < bound {
                return (k, i64::from(bound - age));
            }
            bound = bound.saturating_mul(2);
        }
        (self.old(), 0)
    }
    fn full_level(&self, age: u32) -> usize {
        let mut bound = self.first;
        for k in 1..=self.levels {
            if age < bound {
                return k;
            }
            bound = bound.saturating_mul(2);
        }
        self.levels + 1
    }
    fn learn(&mut self) {
        let l = self.levels;
        // Completions and bytes of each level.
        let mut bytes = [0u64; 24];
        for k in 1..=l {
            let w = if k == 1 {
                u64::from(self.first)
            } else {
                u64::from(self.first) << (k - 2)
            };
            bytes[k] = w * (self.n[k] + self.n[k + 1]) / 2;
        }
        bytes[l + 1] = self.b_old;
        let mut cut = self.base;
        for k in self.base + 1..=l {
            let own = (self.n[k].saturating_sub(self.n[k + 1]), bytes[k]);
            let older = (self.n[k + 1], bytes[k + 1..=l + 1].iter().sum::<u64>());
            // own.0/own.1 >= ratio/10 * older.0/older.1
            if self.n[k] < self.least
                || own.0 == 0
                || u128::from(own.0) * u128::from(older.1) * 10
                    < u128::from(self.ratio) * u128::from(older.0) * u128::from(own.1)
            {
                break;
            }
            cut = k;
        }
        self.cut = cut.max(self.base).min(l);
        if self.n[1] >= self.period {
            if std::env::var("GD").is_ok() {
                eprintln!(
                    "cut {} n {:?} old {}",
                    self.cut,
                    &self.n[1..=l + 1],
                    self.b_old
                );
            }
            for n in &mut self.n {
                *n /= 2
            }
            self.b_old /= 2;
        }
    }
    fn share(&self) -> i64 {
        if self.cut > self.base {
            self.wide
        } else {
            self.share
        }
    }
    fn allowed(&self, k: usize) -> bool {
        let need = if self.cut > 1 {
            self.depth * (k as i64 - 1) / self.cut as i64 * self.reserve / 100
        } else {
            0
        };
        self.budget > need
    }
    fn serve(
        &mut self,
        now: Instant,
        list: usize,
        flow: usize,
        signals: &mut Signals<P>,
    ) -> Option<P> {
        let young = self.flows[flow].age < self.first << (self.cut.max(1) - 1);
        let grace = if young { self.ygrace } else { self.grace };
        let f = &mut self.flows[flow];
        let late = self.listed >= self.crowd
            || self
                .arena
                .front(&f.chain)
                .is_some_and(|p| now.saturating_since(p.arrived()) > grace);
        let mut q = Q {
            arena: &mut self.arena,
            chain: &mut f.chain,
            backlog: &mut self.backlogs[flow],
            packets: &mut self.packets,
            bytes: &mut self.bytes,
            young: f.age < self.exempt,
            own: if late { 0 } else { self.own },
            left: f.held,
        };
        let made = f.law.dequeue(now, &self.params, &mut q, signals);
        let left = q.left;
        f.held = left;
        match made {
            Some(p) => {
                let bytes = p.bytes();
                let n = self.listed.max(1);
                self.virt += u64::from(bytes) * 16 / n;
                let before = if f.age == 0 { 0 } else { usize::MAX };
                let age0 = f.age;
                let gone = (self.virt - f.stamp) / 16 * self.active / 100;
                f.age = (f.age.saturating_add(bytes)).saturating_sub(gone.min(1 << 30) as u32);
                f.stamp = self.virt;
                f.last = now;
                f.deficit -= i64::from(bytes);
                let b = i64::from(bytes);
                let old = self.levels + 1;
                let age1 = f.age;
                if list == old {
                    self.due = (self.due - b * self.weight).max(-65536)
                } else if self.lists[old].head != NONE && self.weight > 0 {
                    self.due += b
                }
                let _ = (before, age0, age1);
                let total0 = self.flows[flow].total;
                let total1 = total0.saturating_add(bytes);
                self.flows[flow].total = total1;
                let from = if total0 == 0 {
                    0
                } else {
                    self.full_level(total0)
                };
                let to = self.full_level(total1);
                for k in from + 1..=to {
                    self.n[k] += 1
                }
                if to == old {
                    self.b_old += u64::from(bytes)
                }
                if self.ratio > 0 && from == 0 && self.n[1] % 16 == 0 {
                    self.learn();
                }
                if (self.lists[old].head != NONE || self.lists[0].head != NONE)
                    && list != 0
                    && list != old
                {
                    self.budget -= b * (100 - self.share()) / 100;
                } else if list != 0 {
                    self.budget = (self.budget + b * self.share() / 100).min(self.depth);
                }
                Some(p)
            }
            None => None,
        }
    }
}

impl<P: Packet + Send> Qdisc<P> for Gentle2<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, signals: &mut Signals<P>) {
        let index = self.place(now, packet.flow());
        packet.set_arrived(now);
        let bytes = u64::from(packet.bytes());
        if self.packets == 0 && self.refill > 0 {
            let idle = now.saturating_since(self.last_empty);
            self.budget = (self.budget
                + self.depth * (idle.0 / 1000) as i64 / (self.refill * 1000))
                .min(self.depth);
        }
        let empty = self.flows[index].chain.is_empty();
        self.arena.push_back(&mut self.flows[index].chain, packet);
        self.backlogs[index] += bytes;
        self.packets += 1;
        self.flows[index].held += 1;
        self.bytes += bytes;
        if empty {
            let f = &mut self.flows[index];
            let forgiven = (self.virt - f.stamp) / 16 * self.idle / 100;
            if now.saturating_since(f.last) >= self.expire {
                f.total = 0;
            }
            f.age = if now.saturating_since(f.last) >= self.expire {
                0
            } else {
                f.age.saturating_sub(forgiven.min(1 << 30) as u32)
            };
            f.stamp = self.virt;
            let (to, left) = if self.listed > self.crowd2 {
                (self.old(), 0)
            } else {
                self.level(self.flows[index].age)
            };
            let listed = self.flows[index].list != NONE;
            if !listed
                || to != self.old() && self.flows[index].list as usize == self.old() && self.relist
            {
                if listed {
                    self.unlink(index)
                } else {
                    self.listed += 1
                }
                let first = to == self.old() || self.order == 1;
                self.flows[index].deficit = if first { QUANTUM } else { left.min(QUANTUM) };
                self.push_list(if first { 0 } else { to }, index);
            }
        }
        if self.packets > self.limit {
            let most = self.backlogs.iter().copied().max().unwrap_or(0);
            let fat = self.backlogs.iter().position(|b| *b == most).unwrap_or(0);
            let (mut n, mut gone) = (0, 0);
            while let Some(p) = self.arena.pop_front(&mut self.flows[fat].chain) {
                let b = u64::from(p.bytes());
                self.backlogs[fat] -= b;
                self.packets -= 1;
                self.flows[fat].held -= 1;
                self.bytes -= b;
                n += 1;
                gone += b;
                signals.dropped(p, DropReason::Overlimit);
                if n >= 64 || gone >= most / 2 {
                    break;
                }
            }
            self.flows[fat].law.count_overlimit_drops(n);
        }
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<P>) -> Dequeue<P> {
        loop {
            let old = self.old();
            let young = (1..old).find(|k| self.lists[*k].head != NONE);
            let others = self.lists[old].head != NONE || self.lists[0].head != NONE;
            let list = match young {
                _ if self.due > 0 && self.lists[old].head != NONE => old,
                _ if self.order == 1 && self.lists[0].head != NONE => 0,
                Some(k) if !others || self.allowed(k) => k,
                Some(k) => {
                    let f = self.pop_list(k);
                    self.flows[f].deficit = QUANTUM;
                    self.push_list(if self.order == 1 { old } else { 0 }, f);
                    continue;
                }
                None if self.lists[0].head != NONE => 0,
                None if self.lists[old].head != NONE => old,
                None => return Dequeue::Empty,
            };
            let flow = self.lists[list].head as usize;
            if self.flows[flow].deficit <= 0 {
                self.pop_list(list);
                let (mut to, left) = self.level(self.flows[flow].age);
                if list == old || (list == 0 && (self.order == 0 || self.listed > self.crowd2)) {
                    to = old;
                }
                self.flows[flow].deficit = if to == old {
                    self.flows[flow].deficit + QUANTUM
                } else {
                    left.min(QUANTUM)
                };
                self.push_list(to, flow);
                continue;
            }
            match self.serve(now, list, flow, signals) {
                Some(p) => {
                    if self.packets == 0 {
                        self.last_empty = now;
                    }
                    return Dequeue::Packet(p);
                }
                None => {
                    self.pop_list(list);
                    if list == 0 && self.lists[old].head != NONE {
                        self.push_list(old, flow);
                    } else {
                        self.flows[flow].list = NONE;
                        self.flows[flow].shared = false;
                        self.listed -= 1;
                    }
                }
            }
        }
    }

    fn len(&self) -> usize {
        self.packets
    }
    fn backlog(&self) -> u64 {
        self.bytes
    }
}
