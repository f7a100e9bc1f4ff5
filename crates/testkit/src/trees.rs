//! Random set-ups of other origin on a device, and a shell script that replaces and restores them.
//!
//! The search runs the script in a network namespace of its host, and the test program `testbed` in Linux in virtual time,
//! where all kinds exist.

use crate::draw::Draw;

/// Queues without classes, with options that may be given in any number and order. A number in brackets is a range.
const QUEUES: [(&str, &[&str]); 19] = [
    ("pfifo", &["limit [1-2000]"]),
    ("bfifo", &["limit [2000-900000]"]),
    ("pfifo_head_drop", &["limit [1-2000]"]),
    (
        "tbf rate [64-900000]kbit burst [1600-90000] limit [2000-900000]",
        &["overhead [1-60]", "linklayer atm", "mpu [1-90]"],
    ),
    (
        "sfq",
        &[
            "perturb [1-60]",
            "quantum [300-9000]",
            "limit [2-126]",
            "depth [2-120]",
            "divisor 512",
            "headdrop",
            "flows [2-120]",
        ],
    ),
    ("codel", &["limit [1-5000]", "target [1-90]ms", "interval [20-900]ms", "ecn", "noecn", "ce_threshold [1-50]ms"]),
    (
        "fq_codel",
        &[
            "limit [1-9000]",
            "flows [1-4096]",
            "target [1-90]ms",
            "interval [20-900]ms",
            "quantum [256-9000]",
            "ecn",
            "noecn",
            "memory_limit [100000-9000000]",
            "drop_batch [1-64]",
            "ce_threshold [1-50]ms",
        ],
    ),
    (
        "pie",
        &[
            "limit [1-5000]",
            "target [1-90]ms",
            "tupdate [1-60]ms",
            "alpha [0-32]",
            "beta [0-32]",
            "ecn",
            "bytemode",
            "dq_rate_estimator",
        ],
    ),
    (
        "fq_pie",
        &[
            "limit [1-9000]",
            "target [1-90]ms",
            "tupdate [1-60]ms",
            "quantum [256-9000]",
            "ecn",
            "memory_limit [100000-9000000]",
        ],
    ),
    (
        "fq",
        &[
            "limit [1-9000]",
            "flow_limit [1-900]",
            "quantum [300-9000]",
            "initial_quantum [300-90000]",
            "maxrate [1-900]mbit",
            "nopacing",
            "buckets 256",
            "refill_delay [1-90]ms",
            "orphan_mask [1-4095]",
            "horizon [1-20]s",
            "horizon_drop",
            "timer_slack [1-90]us",
        ],
    ),
    (
        "cake",
        &[
            "bandwidth [100-900000]kbit",
            "besteffort",
            "diffserv3",
            "diffserv4",
            "diffserv8",
            "precedence",
            "flowblind",
            "srchost",
            "dsthost",
            "hosts",
            "flows",
            "dual-srchost",
            "dual-dsthost",
            "triple-isolate",
            "nat",
            "wash",
            "ingress",
            "autorate-ingress",
            "ack-filter",
            "split-gso",
            "no-split-gso",
            "rtt [1-900]ms",
            "overhead [0-90]",
            "mpu [0-90]",
            "atm",
            "ptm",
            "noatm",
            "memlimit [100000-9000000]",
            "fwmark 0x[1-99]",
        ],
    ),
    ("sfb", &["limit [1-5000]", "max [10-90]", "target [5-50]", "rehash [1-600]s", "db [1-60]s"]),
    (
        "hhf",
        &[
            "limit [1-5000]",
            "quantum [300-9000]",
            "hh_limit [1-4096]",
            "reset_timeout [1-900]ms",
            "non_hh_weight [1-9]",
        ],
    ),
    ("skbprio", &["limit [1-5000]"]),
    (
        "netem",
        &[
            "delay [1-900]ms",
            "loss [1-9]%",
            "duplicate [1-9]%",
            "limit [1-5000]",
            "rate [1-900]mbit",
            "corrupt [1-9]%",
            "gap [1-9]",
            "ecn",
            "loss gemodel [1-9]% [20-90]%",
            "loss state [1-9]%",
            "slot [1-9]ms",
            "reorder [1-9]%",
            "seed [1-9999]",
            "delay [20-90]ms [1-9]ms",
        ],
    ),
    (
        "red limit [30000-900000] avpkt 1000",
        &["ecn", "adaptive", "bandwidth [1-90]mbit", "min [3000-9000]", "max [10000-29000]"],
    ),
    ("choke limit [30-900] bandwidth [1-90]mbit", &["ecn", "min [10-20]", "max [21-29]"]),
    ("dualpi2", &["limit [1-9000]", "target [1-50]ms"]),
    ("pfifo_fast", &[]),
];

/// Qdiscs with classes that are created one by one, with the options of a class.
const WITH_CLASSES: [(&str, &str, &str, &[&str]); 4] = [
    (
        "htb",
        "",
        "rate [8-90000]kbit",
        &[
            "ceil [90000-900000]kbit",
            "burst [1600-90000]",
            "cburst [1600-90000]",
            "quantum [1000-60000]",
            "prio [0-7]",
            "overhead [1-60]",
            "mpu [1-90]",
            "linklayer atm",
            "mtu [1500-9000]",
        ],
    ),
    (
        "hfsc",
        "",
        "ls rate [8-90000]kbit",
        &["ul rate [90000-900000]kbit", "rt m1 [8-900]kbit d [1-90]ms m2 [8-90]kbit"],
    ),
    ("drr", "", "", &["quantum [300-9000]"]),
    ("qfq", "", "", &["weight [1-1000]", "maxpkt [512-60000]"]),
];

/// Qdiscs whose classes come with them, and their number.
const WITH_BANDS: [(&str, u64); 6] = [
    ("prio", 3),
    ("prio bands 5 priomap 1 2 2 2 1 2 0 0 1 1 1 1 4 1 1 3", 5),
    ("ets bands 4 strict 2 quanta 3000 [300-9000]", 4),
    ("ets strict 3", 3),
    ("multiq", 4),
    ("tbf rate [64-900000]kbit burst [1600-90000] limit [2000-900000]", 1),
];

/// Matches of filters; CLASS stands for the target.
const FILTERS: [&str; 15] = [
    "protocol ip u32 match ip dport [1-65000] 0xffff CLASS",
    "protocol ip u32 match ip src 10.[0-255].0.0/16 match ip protocol 6 0xff CLASS",
    "protocol ipv6 u32 match ip6 dst 2001:db8:[1-99]::/48 CLASS",
    "protocol all u32 match u32 0 0 at [0-4] CLASS",
    "protocol ip u32 match u8 0x[10-99] 0xff at 33 CLASS",
    "protocol ip flower ip_proto tcp dst_port [1-65000] CLASS",
    "protocol ip flower src_ip 10.[0-255].0.0/16 ip_tos 0x[10-48] CLASS",
    "protocol 802.1q flower vlan_id [1-4000] CLASS",
    "protocol all matchall CLASS",
    "protocol all handle [1-9999] fw CLASS",
    "protocol ip handle 0x[1-99]/0xff fw CLASS",
    "protocol ip basic match 'cmp(u16 at 2 layer 1 gt [1-999])' CLASS",
    "protocol all basic match 'meta(priority eq [1-15])' CLASS",
    "protocol all handle [1-99] flow hash keys src,dst divisor [2-16] baseclass 1:1",
    "protocol ip handle [1-99] flow map key dst and 0x[1-99] divisor [2-16] baseclass 1:1",
];

/// Actions of filters.
const ACTIONS: [&str; 10] = [
    "action ok",
    "action drop",
    "action mirred egress redirect dev peer",
    "action mirred egress mirror dev peer",
    "action skbedit priority 1:[1-9] mark [1-99]",
    "action vlan push id [1-4000]",
    "action gact drop random netrand ok [1-99]",
    "action csum ip pipe action drop",
    "action police rate [1-9]mbit burst 10k drop",
    "action goto chain [1-9]",
];

/// A set-up, as commands of `tc`, and the direction in which gentle replaces it.
pub struct Tree {
    commands: Vec<String>,
    direction: &'static str,
    handles: u64,
}

/// Kinds of a kernel: everything, or what a kernel without modules has.
#[derive(Clone, Copy, PartialEq)]
pub enum Kinds {
    /// All that iproute2 knows.
    All,
    /// Those that every kernel with qdiscs has.
    Few,
}

/// Kinds that every kernel with qdiscs has.
const FEW: [&str; 9] = ["pfifo", "bfifo", "pfifo_head_drop", "tbf", "htb", "u32", "mirred", "ok", "drop"];

fn has(kinds: Kinds, text: &str) -> bool {
    kinds == Kinds::All || text.split_whitespace().any(|word| FEW.contains(&word))
}

/// Numbers in place of ranges in brackets.
fn filled(draw: &mut Draw, text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let (range, after) = after.split_once(']').expect("a bracket");
        let (low, high) = range.split_once('-').expect("a range");
        let [low, high] = [low, high].map(|number| number.parse().expect("a number"));
        filled += &format!("{before}{}", draw.range(low, high));
        rest = after;
    }
    filled + rest
}

fn with_options(draw: &mut Draw, base: &str, options: &[&str]) -> String {
    let mut text = filled(draw, base);
    if !options.is_empty() {
        for _ in 0..draw.below(5) {
            let option = draw.pick(options);
            text = format!("{text} {}", filled(draw, option));
        }
    }
    text
}

impl Tree {
    /// A random set-up.
    pub fn any(draw: &mut Draw, kinds: Kinds) -> Tree {
        let mut tree = Tree { commands: Vec::new(), direction: "", handles: 0 };
        if draw.chance(25) {
            tree.direction = "--ingress";
            let (qdisc, parent) = match draw.below(2) {
                0 => ("handle ffff: ingress", "parent ffff:"),
                _ => ("clsact", "ingress"),
            };
            tree.commands.push(format!("tc qdisc add dev wan {qdisc}"));
            tree.filters(draw, kinds, parent, &[]);
            if draw.chance(30) {
                tree.qdisc(draw, kinds, "root", 1);
            }
        } else {
            tree.qdisc(draw, kinds, "root", 0);
        }
        tree
    }

    fn qdisc(&mut self, draw: &mut Draw, kinds: Kinds, parent: &str, depth: u64) {
        self.handles += 1;
        let handle = match parent {
            "root" => 1,
            _ => 16 * self.handles,
        };
        let handle = format!("{handle:x}:");
        let add = format!(
            "tc qdisc add dev wan {} handle {handle}",
            if parent == "root" { "root".to_owned() } else { format!("parent {parent}") }
        );
        let queues: Vec<_> = QUEUES.iter().filter(|it| has(kinds, it.0)).collect();
        match draw.below(if depth < 2 { 10 } else { 5 }) {
            0..5 => {
                let (base, options) = queues[draw.below(queues.len() as u64) as usize];
                let queue = with_options(draw, base, options);
                self.commands.push(format!("{add} {queue}"));
            }
            5..=7 => {
                let all: Vec<_> = WITH_CLASSES.iter().filter(|it| has(kinds, it.0)).collect();
                let (kind, _, base, options) = all[draw.below(all.len() as u64) as usize];
                let default = match *kind {
                    "htb" => draw.pick(&["", "default 2", "default 30 r2q 5", "direct_qlen 77"]),
                    "hfsc" => draw.pick(&["", "default 2"]),
                    _ => "",
                };
                self.commands.push(format!("{add} {kind} {default}"));
                let mut classes: Vec<String> = Vec::new();
                for minor in 1..=draw.range(1, 5) {
                    let above = match classes.last() {
                        Some(class) if ["htb", "hfsc"].contains(kind) && draw.chance(40) => class.clone(),
                        _ => handle.clone(),
                    };
                    let class = format!("{handle}{minor:x}");
                    let options = with_options(draw, base, options);
                    self.commands.push(format!("tc class add dev wan parent {above} classid {class} {kind} {options}"));
                    classes.push(class);
                }
                self.children(draw, kinds, &classes, depth);
                self.filters(draw, kinds, &format!("parent {handle}"), &classes);
                if draw.chance(20) && ["htb", "hfsc"].contains(kind) {
                    let class = classes[draw.below(classes.len() as u64) as usize].clone();
                    self.filters(draw, kinds, &format!("parent {class}"), &classes);
                }
            }
            _ => {
                let all: Vec<_> = WITH_BANDS.iter().filter(|it| has(kinds, it.0)).collect();
                let (base, bands) = all[draw.below(all.len() as u64) as usize];
                let queue = filled(draw, base);
                self.commands.push(format!("{add} {queue}"));
                let classes: Vec<String> = (1..=*bands).map(|minor| format!("{handle}{minor:x}")).collect();
                self.children(draw, kinds, &classes, depth);
                if *bands > 1 {
                    self.filters(draw, kinds, &format!("parent {handle}"), &classes);
                }
            }
        }
        // Removed objects leave gaps in numbers.
        if draw.chance(10)
            && let Some(last) = self.commands.last().filter(|it| it.starts_with("tc filter add"))
        {
            let parts: Vec<&str> = last.split(" protocol ").collect();
            self.commands.push(parts[0].replace("filter add", "filter del"));
        }
    }

    fn children(&mut self, draw: &mut Draw, kinds: Kinds, classes: &[String], depth: u64) {
        for class in classes {
            if draw.chance(35) {
                self.qdisc(draw, kinds, class, depth + 1);
            }
        }
    }

    fn filters(&mut self, draw: &mut Draw, kinds: Kinds, parent: &str, classes: &[String]) {
        let all: Vec<&str> = FILTERS.iter().copied().filter(|it| has(kinds, it)).collect();
        let actions: Vec<&str> = ACTIONS.iter().copied().filter(|it| has(kinds, it)).collect();
        for _ in 0..draw.below(6) {
            let filter = draw.pick(&all);
            let filter = filled(draw, filter);
            let target = match (classes.is_empty(), draw.below(4)) {
                (false, 0..3) => format!("classid {}", classes[draw.below(classes.len() as u64) as usize]),
                _ => {
                    let action = draw.pick(&actions);
                    filled(draw, action)
                }
            };
            let filter = filter.replace("CLASS", &target);
            let chain = if draw.chance(8) { "chain 3 " } else { "" };
            let (protocol, match_) = filter.split_once(' ').expect("words");
            let (name, match_) = match_.split_once(' ').expect("words");
            let prio = draw.range(1, 9);
            self.commands.push(format!("tc filter add dev wan {parent} {chain}prio {prio} {protocol} {name} {match_}"));
        }
    }
}

/// Shell functions: `look` shows everything on `wan` without counters. The order of qdiscs and classes is that of a hash
/// table and its history; a list of classes ends at the first that the kernel cannot show, so only classes of qdiscs
/// whose classes are created one by one are shown.
const LOOK: &str = r#"
look() {
    # The kernel takes filters apart a moment after they were deleted, and their actions are counted until then.
    sleep 0.1
    tc -d qdisc show dev wan | sed 's/ direct_packets_stat [0-9]*//' | sort
    for handle in $(tc qdisc show dev wan | awk '$2 ~ /^(htb|hfsc|drr|qfq)$/ {print $3}'); do
        tc -d class show dev wan parent $handle | sort
    done
    for parent in root ingress egress $(tc qdisc show dev wan | awk '$3 != "0:" {print "parent:" $3}') \
        $(tc class show dev wan | awk '$2 ~ /^(htb|hfsc|drr|qfq)$/ {print "parent:" $3}' | sort); do
        words=$(echo $parent | sed 's/^parent:/parent /')
        tc -d filter show dev wan $words 2>/dev/null | sed "s/^/$parent /"
        tc -d chain show dev wan $words 2>/dev/null | sed "s/^/$parent /"
    done
}
attempt() {
    name=$1; shift
    if "$@" >/run/said 2>&1; then echo "=== $name 0"; else echo "=== $name $?"; fi
    cat /run/said
}
"#;

/// Shell script that makes a set-up, replaces and restores it, and prints what is there in between. The program is
/// `$GENTLE`.
pub fn script(tree: &Tree) -> String {
    let direction = tree.direction;
    let mut script = String::from(LOOK);
    script += "ip link add wan numtxqueues 4 numrxqueues 4 type veth peer name peer numtxqueues 4 numrxqueues 4\n\
               ip link set wan up\nip link set peer up\n";
    for command in &tree.commands {
        script += &format!("{command} 2>/dev/null || :\n");
    }
    script += &format!(
        "echo '=== before 0'; look\n\
         attempt plain \"$GENTLE\" qdisc apply wan bfifo {direction} --rate 20mbit\n\
         echo '=== refused 0'; look\n\
         attempt replace \"$GENTLE\" qdisc apply wan bfifo {direction} --rate 20mbit --replace\n\
         echo '=== replaced 0'; look\n\
         attempt remove \"$GENTLE\" qdisc remove wan\n\
         echo '=== after 0'; look\n\
         ip link show | grep -e in-wan -e scratch || :\n\
         ip link del wan\n"
    );
    script
}

/// Reasons for a refusal that `docs/reference/qdisc.md` has.
const REASONS: [&str; 16] = [
    "size table",
    "rate estimator",
    "policer",
    "BPF program",
    "is of a kind",
    "distribution",
    "template",
    "(a block)",
    "numbered together",
    "would differ",
    "would not accept",
    "has no filters",
    "also used elsewhere",
    "chain ",
    "tables of red",
    "would not be restored",
];

/// Output of a script between `=== NAME STATUS` lines.
fn sections(printed: &str) -> Vec<(&str, &str, String)> {
    let mut sections: Vec<(&str, &str, String)> = Vec::new();
    for line in printed.lines() {
        match line.strip_prefix("=== ").and_then(|rest| rest.split_once(' ')) {
            Some((name, status)) => sections.push((name, status, String::new())),
            None => {
                if let Some(last) = sections.last_mut() {
                    last.2 += line;
                    last.2.push('\n');
                }
            }
        }
    }
    sections
}

/// Checks what a script printed.
///
/// # Errors
/// The invariant that does not hold, and details.
pub fn judge(printed: &str) -> Result<(), (&'static str, String)> {
    let sections = sections(printed);
    let Some([before, plain, refused, replace, replaced, remove, after]) = sections.first_chunk::<7>() else {
        return Err(("the script ends", printed.to_owned()));
    };
    let wrong = |invariant: &'static str, holds: bool| match holds {
        true => Ok(()),
        false => Err((invariant, printed.to_owned())),
    };
    let panicked = [plain, replace, remove].iter().any(|it| it.2.contains("panicked at"));
    wrong("no panic", !panicked)?;
    wrong("documented exit codes", [plain, replace, remove].iter().all(|it| ["0", "1"].contains(&it.1)))?;
    if plain.1 != "0" {
        wrong("what is refused is unchanged", refused.2 == before.2)?;
        wrong(
            "others' qdiscs need --replace",
            plain.2.contains("--replace") || plain.2.contains("nothing was changed"),
        )?;
    }
    if replace.1 == "0" {
        wrong("what was replaced is restored", remove.1 == "0")?;
    } else {
        wrong("what cannot be restored is not replaced", replace.2.contains("nothing was changed"))?;
        wrong("what is refused is unchanged", replaced.2 == before.2)?;
        wrong("a refusal has a documented reason", REASONS.iter().any(|reason| replace.2.contains(reason)))?;
    }
    wrong("what was replaced is restored", after.2 == before.2)
}
