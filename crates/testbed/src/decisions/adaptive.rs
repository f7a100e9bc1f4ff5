//! Adaptive RED as `tc` sets it up: RED.
//!
//! Since its flags have an attribute of their own (Linux 5.7), `tc` puts `adaptive` there only, and `red_change` of
//! `net/sched/sch_red.c` looks for it where it was before: the timer that would adapt is never started.

use gentle_aqm::Spec;

/// What the kernel has after `tc` was told `spec`.
pub(super) fn as_set_up(spec: &Spec) -> Spec {
    let text = match spec.scheme().name {
        "ared" => spec.to_string().replacen("ared", "red", 1),
        "red" if spec.options().flag("adaptive") => {
            let text = spec.to_string();
            let others = text.split(' ').filter(|word| !word.starts_with("adaptive"));
            others.collect::<Vec<&str>>().join(" ")
        }
        _ => return spec.clone(),
    };
    text.parse().expect("an option that red has")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_adapts_changes() {
        let set_up = |text: &str| as_set_up(&text.parse().unwrap());
        let red = set_up("ared probability=0.1");
        assert_eq!(red.to_string(), "red probability=0.1");
        assert!(
            !set_up("red adaptive limit=30000")
                .options()
                .flag("adaptive")
        );
        assert_eq!(set_up("choke").to_string(), "choke");
    }
}
