//! `cake`: shaper, fair queues and AQM in one, which cannot be combined with others. It is not a scheme of gentle-aqm.

use std::fmt;
use std::str::FromStr;

/// Options of cake that change its queueing; rate and framing come from the shaper.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cake {
    options: Vec<String>,
}

/// Options of tc-cake(8) without a value.
const FLAGS: &[&str] = &[
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
    "nonat",
    "wash",
    "nowash",
    "split-gso",
    "no-split-gso",
    "ack-filter",
    "ack-filter-aggressive",
    "no-ack-filter",
    "ingress",
    "egress",
];

impl FromStr for Cake {
    type Err = String;

    fn from_str(text: &str) -> Result<Cake, String> {
        let mut options = text.split_ascii_whitespace();
        if options.next() != Some("cake") {
            return Err("expected cake".to_owned());
        }
        let options: Vec<String> = options.map(str::to_owned).collect();
        match options
            .iter()
            .find(|option| !FLAGS.contains(&option.as_str()))
        {
            Some(unknown) => Err(format!(
                "cake has no option '{unknown}' here; it accepts {} (--rate sets the rate)",
                FLAGS.join(", ")
            )),
            None => Ok(Cake { options }),
        }
    }
}

impl fmt::Display for Cake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cake")?;
        for option in &self.options {
            write!(f, " {option}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Cake;

    #[test]
    fn reads_its_flags_and_refuses_others() {
        for text in ["cake", "cake besteffort nat dual-srchost"] {
            assert_eq!(text.parse::<Cake>().unwrap().to_string(), text);
        }
        let error = "cake bandwidth 20mbit".parse::<Cake>().unwrap_err();
        assert!(error.contains("--rate"), "{error}");
    }
}
