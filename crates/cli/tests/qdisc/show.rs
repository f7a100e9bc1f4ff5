//! Counters of `gentle qdisc show`.

use super::namespace::{run, stdout};

#[test]
fn counters_are_those_of_tc() {
    // A device that is up sends packets by itself, so the script repeats until none was sent between the readings.
    let Some(text) = stdout(
        "gentle qdisc apply wan 'pfifo limit=50' --rate 20mbit >/dev/null
        ip addr add 192.0.2.1/24 dev wan
        ping -c 3 -i 0.2 -W 1 192.0.2.2 >/dev/null 2>&1 || :
        until
            before=$(tc -s qdisc show dev wan)
            gentle qdisc show wan --json > /run/json
            test \"$before\" = \"$(tc -s qdisc show dev wan)\"
        do :; done
        cat /run/json
        echo \"$before\"",
    ) else {
        return;
    };
    let end = text.find("\n}\n").expect("the end of the JSON") + 3;
    let shown: serde_json::Value = serde_json::from_str(&text[..end]).unwrap();
    let pfifo = &shown["qdiscs"][1];
    assert_eq!((&pfifo["kind"], &pfifo["parent"]), (&"pfifo".into(), &"5a0:1".into()));
    let sent = format!("Sent {} bytes {} pkt (dropped {},", pfifo["bytes"], pfifo["packets"], pfifo["drops"]);
    assert!(pfifo["packets"].as_u64().unwrap() > 0, "{text}");
    let told = text.rsplit("qdisc pfifo 5a1:").next().unwrap_or_default();
    assert!(told.contains(&sent), "{sent}\n{text}");
}

#[test]
fn watching_ends_with_an_interrupt_and_writes_a_line_each_time() {
    let Some(output) = run("timeout -s INT 3 gentle qdisc show wan --json --watch 1") else {
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() >= 2, "{text}");
    for line in text.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
    // Exit code of timeout after it has ended a program.
    assert_eq!(output.status.code(), Some(124));
}
