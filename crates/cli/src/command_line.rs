//! Command lines that reproduce results.

/// Options that do not affect results; those with a value first.
const WITH_VALUE: [&str; 9] =
    ["--connections", "--csv", "--figures", "--flows", "--html", "--keep", "--pcap", "--record", "--threads"];
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

/// Options of a comparison that select its runs.
const WHICH_RUNS: [&str; 3] = ["--scheme", "--seeds", "--first-seed"];

/// Command line of a single comparison of `schemes` under `seeds` that equals the comparisons of `commands` together;
/// `None` if there is none.
pub(crate) fn merged_command(commands: &[&str], schemes: &[String], seeds: &[u64]) -> Option<String> {
    let first = *seeds.first()?;
    let follow = |(n, seed): (u64, &u64)| first.checked_add(n) == Some(*seed);
    if !(0..).zip(seeds).all(follow) {
        return None;
    }
    let mut rest: Option<Vec<String>> = None;
    let mut names_schemes = false;
    for command in commands {
        let mut kept = Vec::new();
        let mut words = shlex::split(command)?.into_iter();
        while let Some(word) = words.next() {
            let name = word.split('=').next().unwrap_or_default();
            if !WHICH_RUNS.contains(&name) {
                kept.push(word);
                continue;
            }
            names_schemes |= name == "--scheme";
            if name.len() == word.len() {
                words.next();
            }
        }
        if *rest.get_or_insert_with(|| kept.clone()) != kept {
            return None;
        }
    }
    let mut words = rest?;
    for scheme in schemes.iter().filter(|_| names_schemes) {
        words.extend(["--scheme".to_owned(), scheme.clone()]);
    }
    if first != 1 {
        words.extend(["--first-seed".to_owned(), first.to_string()]);
    }
    words.extend(["--seeds".to_owned(), seeds.len().to_string()]);
    Some(shell_line(words.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::{merged_command, without_output_options};

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

    #[test]
    fn calls_for_parts_become_a_call_for_all() {
        let two = ["gentle compare --duration 20s --seeds 2", "gentle compare --duration 20s --first-seed=3 --seeds 1"];
        let schemes = ["codel target=20ms".to_owned(), "spa".to_owned()];
        assert_eq!(merged_command(&two, &schemes, &[1, 2, 3]).unwrap(), "gentle compare --duration 20s --seeds 3");
        assert_eq!(merged_command(&two, &schemes, &[1, 2, 4]), None);
        let named = ["gentle compare --scheme spa", "gentle compare --scheme='codel target=20ms'"];
        assert_eq!(
            merged_command(&named, &schemes, &[2, 3]).unwrap(),
            "gentle compare --scheme 'codel target=20ms' --scheme spa --first-seed 2 --seeds 2"
        );
        assert_eq!(merged_command(&[two[0], named[0]], &schemes, &[1]), None);
    }
}
