use gentle_trace::{capture::CaptureReader, *};
fn main() {
    let mut o = Options::default();
    let mut paths = vec![];
    let mut pretty = true;
    let mut rowsf = false;
    for a in std::env::args().skip(1) {
        if a == "-q" {
            pretty = false
        } else if a == "--rows" {
            rowsf = true
        } else if a == "--inner" {
            o.inner = true
        } else if let Some(m) = a.strip_prefix("--mem=") {
            o.memory_limit = m.parse().unwrap()
        } else {
            paths.push(a)
        }
    }
    let readers = paths
        .iter()
        .map(|p| CaptureReader::open(p.as_ref()).unwrap())
        .collect();
    let w = Watch::default();
    let mut sink = |r: &row::Row| {
        println!("{r:?}");
        Ok(())
    };
    let a = analyze(
        readers,
        &o,
        None,
        if rowsf { Some(&mut sink) } else { None },
        &w,
    )
    .unwrap();
    if pretty {
        println!("{}", serde_json::to_string_pretty(&a).unwrap());
    } else {
        println!(
            "{} {} {} {}",
            a.handshakes.attempts,
            a.handshakes.successes,
            a.handshakes.duplicate_syn,
            a.handshakes.duplicate_synack
        )
    }
}
