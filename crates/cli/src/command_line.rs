//! Command lines that reproduce results.

/// Options that do not affect results; those with a value first.
const WITH_VALUE: [&str; 10] = [
    "--connections",
    "--csv",
    "--figures",
    "--flows",
    "--html",
    "--keep",
    "--pcap",
    "--record",
    "--store",
    "--threads",
];
const WITHOUT_VALUE: [&str; 4] = ["--full", "--json", "--quiet", "-q"];

/// Command line of this process, quoted for a shell, without options that do not affect the results.
pub(crate) fn command() -> String {
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    without_output_options(&arguments)
}

fn without_output_options(arguments: &[String]) -> String {
    let mut kept = vec!["gentle"];
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (argument.as_str(), None),
        };
        if WITH_VALUE.contains(&name) {
            if value.is_none() {
                rest.next();
            }
        } else if !WITHOUT_VALUE.contains(&name) {
            kept.push(argument);
        }
    }
    shell_line(kept)
}

/// Joins words to a command line, quoted for a shell.
fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quote = |text| shlex::try_quote(text).expect("arguments of a process have no zero byte").into_owned();
    // Only the value is quoted. Names of options need no quotes, and an equals sign needs them only at the start of a word
    // (zsh).
    let quoted = words.into_iter().map(|word| match word.split_once('=') {
        Some((name, value)) if name.starts_with('-') => format!("{name}={}", quote(value)),
        _ => quote(word),
    });
    quoted.collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::without_output_options;

    #[test]
    fn only_what_makes_the_results_is_repeated() {
        for (given, expected) in [
            (&["compare"][..], "gentle compare"),
            (
                &["compare", "--json", "--scheme", "codel target=20ms", "--threads", "2", "-q"],
                "gentle compare --scheme 'codel target=20ms'",
            ),
            (
                &["sim", "--csv=a b.csv", "it's.toml", "--html", "x.html", "--seeds=3"],
                "gentle sim \"it's.toml\" --seeds=3",
            ),
            (&["analyze", "--full", "--flows=f.csv", "--html", "a.html", "a.pcap"], "gentle analyze a.pcap"),
            (&["testbed", "run", "short", "--keep", "d", "--quiet"], "gentle testbed run short"),
        ] {
            let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(without_output_options(&given), expected);
        }
    }
}
