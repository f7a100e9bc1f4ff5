//! Tables in the file format of tc-testing (`tools/testing/selftests/tc-testing` in Linux), for its users:
//! `kernel/testing/tc-testing/*.json`.

use super::{Module, Setting};
use serde_json::{Value, json};

/// Exit codes of `tc`: arguments that it cannot parse, incomplete arguments, and rejection by the kernel.
const UNREADABLE: &str = "1";
const INCOMPLETE: &str = "255";
const REFUSED: &str = "2";

/// All cases of a module, in the order of its table.
pub(in super::super) fn cases(module: &Module) -> Value {
    let kind = module.kind;
    let mut list = Vec::new();
    for setting in module.settings {
        list.push(added(module, setting));
        list.push(changed(module, setting));
    }
    for setting in module.fixed {
        list.push(added(module, setting));
        list.push(kept(module, setting));
    }
    let by_tc = module.refused.len() - module.refused_by_kernel;
    for (place, (words, said)) in module.refused.iter().enumerate() {
        let code = match *said {
            _ if place >= by_tc => REFUSED,
            "not complete" => INCOMPLETE,
            _ => UNREADABLE,
        };
        list.push(refused(kind, words, code));
    }
    list.push(case(kind, "is deleted", &[&add(kind, "")], &delete(), "0", &Shown::Nothing, &[]));
    list.extend(PARENTS.iter().map(|parent| drained(kind, parent)));
    if kind == "spa" {
        list.extend([filtered(), counted_by_class()]);
    }
    for (number, case) in list.iter_mut().enumerate() {
        case["id"] = json!(format!("{:04x}", module.first_case + number));
    }
    Value::Array(list)
}

/// Qdiscs above a module, with what makes their class 1:1, to which `FILTER` sends IPv4.
const PARENTS: [&[&str]; 6] = [
    &["$TC qdisc add dev $DUMMY root handle 1: prio"],
    &["$TC qdisc add dev $DUMMY root handle 1: ets strict 2 quanta 1500"],
    &["$TC qdisc add dev $DUMMY root handle 1: drr", "$TC class add dev $DUMMY parent 1: classid 1:1 drr"],
    &[
        "$TC qdisc add dev $DUMMY root handle 1: qfq",
        "$TC class add dev $DUMMY parent 1: classid 1:1 qfq weight 1 maxpkt 2048",
    ],
    &["$TC qdisc add dev $DUMMY root handle 1: htb", "$TC class add dev $DUMMY parent 1: classid 1:1 htb rate 100kbit"],
    &[
        "$TC qdisc add dev $DUMMY root handle 1: hfsc",
        "$TC class add dev $DUMMY parent 1: classid 1:1 hfsc sc rate 100kbit",
    ],
];
const FILTER: &str = "$TC filter add dev $DUMMY parent 1: protocol ip matchall flowid 1:1";

const UP: [&str; 2] = ["$IP link set dev $DUMMY up || true", "$IP addr add 10.10.10.10/24 dev $DUMMY || true"];
const DOWN: [&str; 2] = ["$TC qdisc del dev $DUMMY root", "$IP addr del 10.10.10.10/24 dev $DUMMY || true"];
/// Four packets of 98 bytes to nobody.
const PING: &str = "ping -q -c 4 -i 0.001 -W 0.01 10.10.10.1 -I $DUMMY > /dev/null || true";

/// Case with traffic: `show` prints a list of which `expected` is in one element.
fn traffic(kind: &str, what: &str, setup: &[&str], show: &str, expected: Value) -> Value {
    let setup = [&UP, setup, &[PING]].concat();
    json!({
        "id": "",
        "name": format!("{kind} {what}"),
        "category": ["qdisc", kind],
        "plugins": {"requires": "nsPlugin"},
        "setup": setup,
        "cmdUnderTest": "sleep 0.2",
        "expExitCode": "0",
        "verifyCmd": show,
        "matchJSON": [expected],
        "teardown": DOWN,
    })
}

/// Everything that a class of another qdisc gets leaves it.
fn drained(kind: &str, parent: &[&str]) -> Value {
    let words = parent[0].rsplit("1: ").next().expect("a qdisc");
    let above = words.split(' ').next().expect("a kind");
    let add = format!("$TC qdisc add dev $DUMMY parent 1:1 handle 2: {kind}");
    traffic(
        kind,
        &format!("beneath {above} sends all it gets"),
        &[parent, &[&add, FILTER]].concat(),
        "$TC -j -s qdisc show dev $DUMMY handle 2:",
        json!({"kind": kind, "handle": "2:", "packets": 4, "bytes": 392, "drops": 0, "backlog": 0, "qlen": 0}),
    )
}

const TWO_CLASSES: [&str; 2] =
    ["$TC qdisc add dev $DUMMY root handle 1: spa", "$TC qdisc add dev $DUMMY parent 1:2 handle 2: fq_codel"];

/// A packet that a filter of a child drops is not sent.
fn filtered() -> Value {
    let filter = "$TC filter add dev $DUMMY parent 2: protocol ip matchall action drop";
    traffic(
        "spa",
        "leaves the last word to a filter below",
        &[&TWO_CLASSES[..], &[filter]].concat(),
        "$TC -j -s qdisc show dev $DUMMY handle 2:",
        json!({"kind": "fq_codel", "handle": "2:", "packets": 0, "drops": 4, "backlog": 0, "qlen": 0}),
    )
}

/// A class drops what its qdisc drops.
fn counted_by_class() -> Value {
    let mut case = filtered();
    case["name"] = json!("spa counts in a class what its qdisc drops");
    case["verifyCmd"] = json!("$TC -s class show dev $DUMMY");
    case.as_object_mut().expect("it is one").remove("matchJSON");
    case["matchPattern"] = json!("class spa 1:2 .*\\n Sent 0 bytes 0 pkt \\(dropped 4");
    case["matchCount"] = json!("1");
    case
}

/// Output of `tc` afterwards.
enum Shown {
    Options(Value),
    Nothing,
}

fn add(kind: &str, words: &str) -> String {
    command("add", kind, words)
}

fn command(verb: &str, kind: &str, words: &str) -> String {
    let line = format!("$TC qdisc {verb} dev $DUMMY handle 1: root {kind} {words}");
    line.trim_end().to_owned()
}

fn delete() -> String {
    "$TC qdisc del dev $DUMMY handle 1: root".to_owned()
}

fn added(module: &Module, setting: &Setting) -> Value {
    case(
        module.kind,
        &format!("is added with: {}", or_nothing(setting.words)),
        &[],
        &add(module.kind, setting.words),
        "0",
        &Shown::Options(module.added(setting)),
        &[&delete()],
    )
}

fn changed(module: &Module, setting: &Setting) -> Value {
    case(
        module.kind,
        &format!("is changed with: {}", or_nothing(setting.words)),
        &[&add(module.kind, "")],
        &command("change", module.kind, setting.words),
        "0",
        &Shown::Options(module.changed(setting)),
        &[&delete()],
    )
}

fn kept(module: &Module, setting: &Setting) -> Value {
    case(
        module.kind,
        &format!("is not changed with: {}", setting.words),
        &[&add(module.kind, "")],
        &command("change", module.kind, setting.words),
        REFUSED,
        &Shown::Options(module.with_defaults()),
        &[&delete()],
    )
}

fn refused(kind: &str, words: &str, code: &str) -> Value {
    case(kind, &format!("is refused with: {words}"), &[], &add(kind, words), code, &Shown::Nothing, &[])
}

fn or_nothing(words: &str) -> &str {
    if words.is_empty() { "no option" } else { words }
}

fn case(kind: &str, what: &str, setup: &[&str], command: &str, code: &str, shown: &Shown, teardown: &[&str]) -> Value {
    let mut case = json!({
        "id": "",
        "name": format!("{kind} {what}"),
        "category": ["qdisc", kind],
        "plugins": {"requires": "nsPlugin"},
        "setup": setup,
        "cmdUnderTest": command,
        "expExitCode": code,
    });
    let rest = match shown {
        Shown::Options(options) => json!({
            "verifyCmd": "$TC -j qdisc show dev $DUMMY",
            "matchJSON": [{"kind": kind, "handle": "1:", "root": true, "options": options}],
        }),
        Shown::Nothing => json!({
            "verifyCmd": "$TC qdisc show dev $DUMMY",
            "matchPattern": format!("qdisc {kind} 1: root"),
            "matchCount": "0",
        }),
    };
    let (Value::Object(case), Value::Object(rest)) = (&mut case, rest) else {
        unreachable!("both are objects");
    };
    case.extend(rest);
    case.insert("teardown".to_owned(), json!(teardown));
    Value::Object(std::mem::take(case))
}
