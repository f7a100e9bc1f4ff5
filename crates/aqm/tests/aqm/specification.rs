//! Parsing and printing of specifications; the table of schemes in the README.

use gentle_aqm::{Kind, List, Spec, SpecError, Threshold, Value, registry};
use gentle_units::{Nanos, Rate};
use proptest::prelude::*;
use std::path::Path;

fn read(text: &str) -> String {
    let spec: Spec = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
    spec.to_string()
}

fn refused(text: &str) -> String {
    match text.parse::<Spec>() {
        Ok(spec) => panic!("{text} was read as {spec}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn options_are_read_as_tc_writes_them() {
    for (written, read_as) in [
        ("codel target 20ms limit 100 ecn", "codel limit=100 target=20ms ecn=on"),
        ("codel target=20ms limit 100", "codel limit=100 target=20ms"),
        ("fq_codel noecn flows 64", "fq_codel flows=64 ecn=off"),
        ("FQ-CODEL Flows 64", "fq_codel flows=64"),
        ("codel ce-threshold=1ms", "codel ce_threshold=1ms"),
        ("spa fin priority child pfifo limit 50", "spa fin=priority child=pfifo limit=50"),
        ("spa limit 50 Child=PFIFO", "spa child=pfifo limit=50"),
    ] {
        assert_eq!(read(written), read_as, "{written}");
        assert_eq!(read(read_as), read_as, "{read_as}");
    }
}

#[test]
fn an_option_is_given_once() {
    for (text, option) in [
        ("codel target=5ms target=6ms", "target"),
        ("codel target 5ms target=5ms", "target"),
        ("codel ecn noecn", "ecn"),
        ("spa child=codel limit=5 limit=6", "limit"),
        ("spa child=codel child pfifo", "child"),
    ] {
        let expected = format!("option '{option}' is given twice; leave one of them out");
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn what_was_probably_meant_is_suggested() {
    for (text, expected) in [
        ("fq_codle", "unknown scheme 'fq_codle' (did you mean 'fq_codel'?); the schemes are: pfifo,"),
        ("codel tagret=5ms", "codel has no option 'tagret' (did you mean 'target'?); it accepts limit"),
        ("spa chidl=codel", "spa has no option 'chidl' (did you mean 'child'?)"),
        ("codel tarmac=3", "codel has no option 'tarmac'; it accepts"),
        ("hfsc", "unknown scheme 'hfsc'; the schemes are"),
        ("codel 20ms", "codel has no option '20ms'; it accepts"),
    ] {
        let error = refused(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn a_value_that_is_missing_or_no_value_is_said() {
    for (text, expected) in [
        ("codel limit 5 target", "option 'target' needs a value, as in target="),
        ("codel target ecn", "option 'target': 'ecn' does not begin with a number"),
        ("spa child", "option 'child' needs a value, as in child=codel"),
        ("codel target=-5ms", "option 'target': '-5ms' is below zero; expected a time"),
    ] {
        let error = refused(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

/// A valid value of an option of this kind, selected by `draw`.
fn value(kind: Kind, draw: u64) -> Value {
    let within = |least: u64, most: u64| least + draw % (most - least + 1);
    match kind {
        Kind::Time(least, most) => Value::Time(Nanos(within(least.0, most.0))),
        Kind::Size(least, most) => Value::Size(within(least, most)),
        Kind::Count(least, most) => Value::Count(within(least, most)),
        Kind::Integer(least, most) => Value::Integer(least + within(0, least.abs_diff(most)).cast_signed()),
        Kind::Real(least, most) => Value::Real(least + (most - least) * (draw as f64 / u64::MAX as f64)),
        Kind::Rate(least, most) => {
            let bits = within(least.bits_per_second(), most.bits_per_second());
            Value::Rate(Rate::from_bits_per_second(bits).expect("more than zero"))
        }
        Kind::Threshold => Value::Threshold(match draw % 3 {
            0 => Threshold::Delay(Nanos(within(1_000, 10_000_000_000))),
            1 => Threshold::Bytes(within(1, 1 << 30)),
            _ => Threshold::Packets(within(1, 1_000_000)),
        }),
        Kind::Flag => Value::Flag(draw % 2 == 1),
        Kind::Choice(words) => Value::Choice(words[draw as usize % words.len()]),
        Kind::Keyword(words) => Value::Keyword(words[draw as usize % words.len()]),
        Kind::List { length, least, most } => {
            let numbers = (0..length as u64).map(|n| least + (draw >> (n % 40)) % (most - least + 1));
            let numbers: Vec<String> = numbers.map(|n| n.to_string()).collect();
            Value::List(List::parse(&numbers.join(",")).expect("a list"))
        }
    }
}

#[test]
fn a_kernel_carries_out_every_sample() {
    for text in registry::samples() {
        let spec: Spec = text.parse().unwrap();
        let kernel = spec.in_kernel();
        assert_eq!(kernel.in_kernel(), kernel, "{text}");
    }
}

proptest! {
    /// Options that are valid together need not be so one by one.
    #[test]
    fn a_kernel_carries_out_any_options(draw in any::<u64>(), chosen in any::<u32>()) {
        for scheme in registry::SCHEMES {
            let all = (0..).zip(scheme.options);
            let given = all.filter(|(n, _)| chosen >> (n % 32) & 1 == 1);
            let given = given.map(|(n, option)| (option.name, value(option.kind, draw.rotate_left(n))));
            let spec: Spec = scheme.name.parse().unwrap();
            if let Ok(spec) = spec.with_all(given) {
                let kernel = spec.in_kernel();
                prop_assert_eq!(kernel.in_kernel(), kernel);
            }
        }
    }

    /// The printed value of an option parses to the same specification, written with `=` and as `tc` writes it.
    #[test]
    fn every_value_that_is_printed_parses_back(draw in any::<u64>()) {
        for scheme in registry::SCHEMES {
            for option in scheme.options {
                let shown = value(option.kind, draw).to_string();
                let text = format!("{} {}={shown}", scheme.name, option.name);
                let written = match option.kind {
                    Kind::Keyword(_) => format!("{} {shown}", scheme.name),
                    _ => text.clone(),
                };
                match text.parse::<Spec>() {
                    Ok(spec) => {
                        prop_assert_eq!(spec.to_string(), written);
                        prop_assert_eq!(
                            spec.options().get(option.name).map(|value| value.to_string()),
                            Some(shown)
                        );
                    }
                    // The value contradicts the defaults of other options.
                    Err(SpecError::Combination { .. }) => {}
                    Err(error) => prop_assert!(false, "{}: {}", text, error),
                }
            }
        }
    }
}

#[test]
fn ranges_and_defaults_that_are_shown_can_be_given() {
    for scheme in registry::SCHEMES {
        for option in scheme.options {
            let (least, most) = match option.kind {
                Kind::Time(least, most) => (least.to_string(), most.to_string()),
                Kind::Rate(least, most) => (least.to_string(), most.to_string()),
                Kind::Count(least, most) => (least.to_string(), most.to_string()),
                Kind::Integer(least, most) => (least.to_string(), most.to_string()),
                _ => continue,
            };
            let shown = option.kind.to_string();
            assert!(shown.contains(&least) && shown.contains(&most), "{shown}");
            for value in [Some(least.as_str()), Some(&most), option.default] {
                let Some(value) = value else { continue };
                let text = format!("{} {} {value}", scheme.name, option.name);
                match text.parse::<Spec>() {
                    Ok(_) | Err(SpecError::Combination { .. }) => {}
                    Err(error) => panic!("{text}: {error}"),
                }
            }
        }
    }
}

/// Returns the README's table of schemes.
fn table_of_schemes() -> String {
    let mut table = "| name | summary | source |\n| --- | --- | --- |\n".to_owned();
    for scheme in registry::listed() {
        let (name, summary, source) = (scheme.name, scheme.summary, scheme.source);
        table += &format!("| `{name}` | {summary} | {source} |\n");
    }
    table
}

/// `UPDATE_DOCS=1 cargo test -p gentle-aqm --test aqm specification` writes the table.
#[test]
fn the_readme_lists_every_scheme() {
    const BEGIN: &str = "<!-- table: schemes -->\n";
    const END: &str = "<!-- end -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the begin of the table");
    let (_, after) = rest.split_once(END).expect("the end of the table");
    let expected = [before, BEGIN, &table_of_schemes(), END, after].concat();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).unwrap();
        return;
    }
    assert!(text == expected, "README.md: the table of schemes is out of date; UPDATE_DOCS=1 regenerates it");
}
