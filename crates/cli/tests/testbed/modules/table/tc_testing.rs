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
    list.push(case(
        kind,
        "is deleted",
        &[&add(kind, "")],
        &delete(),
        "0",
        &Shown::Nothing,
        &[],
    ));
    for (number, case) in list.iter_mut().enumerate() {
        case["id"] = json!(format!("{:04x}", module.first_case + number));
    }
    Value::Array(list)
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
    case(
        kind,
        &format!("is refused with: {words}"),
        &[],
        &add(kind, words),
        code,
        &Shown::Nothing,
        &[],
    )
}

fn or_nothing(words: &str) -> &str {
    if words.is_empty() { "no option" } else { words }
}

fn case(
    kind: &str,
    what: &str,
    setup: &[&str],
    command: &str,
    code: &str,
    shown: &Shown,
    teardown: &[&str],
) -> Value {
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
