//! Schemes under a class.

use super::{script, under};
use gentle_deploy::Backing;

#[test]
fn schemes_that_linux_has() {
    let scripts: String = [
        "pfifo",
        "pfifo limit=50",
        "bfifo limit=75kb",
        "red",
        "red limit=400kb min=30kb max=90kb avpkt=1000 burst=55 probability=0.1 bandwidth=2.4mbit ecn harddrop nodrop adaptive",
        "ared",
        "choke min=5 max=15 ecn",
        "codel",
        "codel limit=500 target=20ms interval=200ms ecn ce_threshold=1ms",
        "codel noecn",
        "fq_codel",
        "fq_codel limit=600 flows=64 quantum=300 target=1.5ms interval=30ms memory_limit=4mb drop_batch=32 noecn ce_threshold=500us",
        "pie",
        "pie limit=500 target=20ms tupdate=30ms alpha=4 beta=10 ecn bytemode dq_rate_estimator",
        "pie noecn nobytemode nodq_rate_estimator",
        "fq_pie",
        "fq_pie limit=500 flows=64 target=20ms tupdate=30ms alpha=4 beta=10 quantum=300 memory_limit=4mb ecn_prob=5 ecn bytemode dq_rate_estimator",
        "sfq",
        "sfq limit=500 quantum=1514 perturb=10 divisor=512 flows=100 depth=50 headdrop",
        "cake",
        "cake bandwidth=20mbit diffserv4 dual-dsthost wash no-split-gso ack-filter-aggressive memlimit=4mb pppoe-ptm ether-vlan ingress regional",
        "cake raw overhead=-4 atm nowash",
        "pfifo_fast",
        "pfifo_fast limit=50",
        "dualpi2",
        "dualpi2 limit=500 memlimit=1mb coupling_factor=3 step_thresh=5p min_qlen_step=2 overflow drop_enqueue any_ect classic_protection=20 target=10ms tupdate=8ms alpha=0.5 beta=4 no_split_gso",
        "fq",
        "fq limit=500 flow_limit=50 quantum=1514 initial_quantum=3028 maxrate=5mbit buckets=64 nopacing refill_delay=20ms low_rate_threshold=1mbit orphan_mask=255 ce_threshold=5ms horizon=2s horizon_cap priomap=0,0,0,0,1,1,1,1,2,2,2,2,2,2,2,2 weights=30000,20000,20000",
    ]
    .into_iter()
    .map(|spec| format!("# {spec}\n{}", script(&under(spec, Backing::Stock, None).unwrap())))
    .collect();
    insta::assert_snapshot!(scripts);
}

#[test]
fn priority_from_stock_parts() {
    insta::assert_snapshot!("spa_stock", script(&under("spa", Backing::Stock, None).unwrap()));
    insta::assert_snapshot!(
        "spa_fin_priority_stock",
        script(&under("spa fin=priority maxlen=114 target=20ms", Backing::Stock, Some("20mbit")).unwrap())
    );
    insta::assert_snapshot!(
        "syn_prio_stock",
        script(&under("syn_prio maxlen=0 child=sfq perturb=10", Backing::Stock, None).unwrap())
    );
    insta::assert_snapshot!(
        "syn_fin_prio_stock",
        script(&under("syn_fin_prio limit=50", Backing::Stock, None).unwrap())
    );
}

#[test]
fn gentle_from_stock_parts() {
    let scripts: String = [
        "gentle",
        "gentle noecn flows=64 memory_limit=4mb",
        "gentle limit=500 target=10ms hosts=dst",
        "htb rate=20mbit child=gentle",
    ]
    .into_iter()
    .map(|spec| format!("# {spec}\n{}", script(&under(spec, Backing::Stock, None).unwrap())))
    .collect();
    insta::assert_snapshot!(scripts);
}

#[test]
fn native_modules() {
    let scripts: String = [
        "spa",
        "spa fin=priority maxlen=100 share=50 target=20ms ecn",
        "spa child=pie target=20ms",
        "syn_prio limit=50",
        "syn_fin_prio child=gsp threshold=5ms",
        "gsp threshold=10p interval=100ms mode=basic",
        "gentle noecn limit=500 flows=64 target=10ms interval=50ms memory_limit=4mb hosts=dst",
        "redfavor limit=75kb min=5kb max=15kb",
    ]
    .into_iter()
    .map(|spec| {
        let plan = under(spec, Backing::Native, Some("20mbit")).unwrap();
        format!("# {spec}\n{}", script(&plan))
    })
    .collect();
    insta::assert_snapshot!(scripts);
}

#[test]
fn shapers_above_other_schemes() {
    let scripts: String = [
        "tbf",
        "tbf rate=20mbit burst=5kb latency=20ms",
        "tbf rate=20mbit child=pfifo_fast limit=50",
        "htb rate=20mbit ceil=25mbit burst=5kb cburst=3kb child=fq_codel flows=64",
        "htb rate=20mbit child=spa child=pie target=20ms",
        "htb rate=20mbit child=tbf rate=10mbit child=red burst=20",
    ]
    .into_iter()
    .map(|spec| {
        let plan = under(spec, Backing::Native, None).unwrap();
        format!("# {spec}\n{}", script(&plan))
    })
    .collect();
    insta::assert_snapshot!(scripts);
}
