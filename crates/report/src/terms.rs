//! Terms of the field that pages explain in place: the first occurrence of each opens its explanation.

/// A term with its explanation.
pub(crate) struct Term {
    /// Name in anchors of a page.
    pub(crate) id: &'static str,
    /// Spellings in sentences, the longest first.
    words: &'static [&'static str],
    /// Title of the explanation.
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

/// All terms.
pub(crate) const TERMS: &[Term] = &[
    Term {
        id: "syn",
        words: &["SYNs", "SYN"],
        title: "SYN",
        text: "The first packet of a TCP connection, sent by the client. If it is lost, the client waits a second before it sends it again.",
    },
    Term {
        id: "synack",
        words: &["SYN/ACKs", "SYN/ACK"],
        title: "SYN/ACK",
        text: "The server's answer to a SYN, the second packet of a TCP connection. If it is lost, the client waits as for a lost SYN.",
    },
    Term {
        id: "fin",
        words: &["FINs", "FIN"],
        title: "FIN",
        text: "The packet with which a host closes its side of a TCP connection.",
    },
    Term {
        id: "rtt",
        words: &["RTT", "round-trip times", "round-trip time"],
        title: "Round-trip time (RTT)",
        text: "Time from sending a packet to its acknowledgement: both ways through the network, and the waiting time in queues.",
    },
    Term {
        id: "rto",
        words: &["initial RTO", "RTO"],
        title: "Initial retransmission timeout (RTO)",
        text: "Time that a host waits for the answer to its first packet before it sends it again: 1 s in current hosts, 3 s in older ones. It doubles with every further attempt.",
    },
    Term {
        id: "segment",
        words: &["segments", "segment"],
        title: "Segment",
        text: "A packet of a TCP connection. One with data carries about 1,450 bytes, so three segments are about 4 kB.",
    },
    Term {
        id: "retransmission",
        words: &["retransmissions", "retransmission", "retransmitted", "retransmits"],
        title: "Retransmission",
        text: "A packet that is sent again because it was lost, or because its acknowledgement was late.",
    },
    Term {
        id: "seeds",
        words: &["seeds", "seed"],
        title: "Seed",
        text: "Each seed gives another random sequence of connections. All schemes have the same connections under the same seed, so they are compared seed by seed.",
    },
    Term {
        id: "reference",
        words: &["the reference"],
        title: "Reference",
        text: "The scheme with which the others are compared: the plain queue of a router, unless --reference names another.",
    },
    Term {
        id: "scheme",
        words: &["schemes", "scheme"],
        title: "Scheme",
        text: "A rule by which a queue stores, orders and drops packets (Linux: queue discipline).",
    },
    Term {
        id: "load",
        words: &["load"],
        title: "Load",
        text: "Data that the hosts have to send, as a share of what the link can carry.",
    },
    Term {
        id: "undecided",
        words: &["undecided"],
        title: "Undecided",
        text: "The confidence interval covers both outcomes: more runs are needed to say whether the claim holds.",
    },
    Term {
        id: "in-order",
        words: &["agree in order", "agrees in order"],
        title: "Agrees in order",
        text: "The published order of the schemes holds, but the value is outside the tolerance.",
    },
];

/// Part of a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text as it is.
    Text(String),
    /// Words that open the explanation of the term `id`.
    Term { id: &'static str, words: &'static str },
}

/// Sentence with terms.
pub(crate) type Sentence = Vec<Part>;

/// Sentences of one page, in reading order.
#[derive(Default)]
pub(crate) struct Reader {
    /// Terms that occurred before.
    known: Vec<&'static str>,
}

impl Reader {
    /// Splits a sentence at the terms that the page did not have before.
    pub(crate) fn sentence(&mut self, text: &str) -> Sentence {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((at, id, words)) = self.first_term(rest, text.len() > rest.len()) {
            self.known.push(id);
            if at > 0 {
                parts.push(Part::Text(rest[..at].to_owned()));
            }
            parts.push(Part::Term { id, words });
            rest = &rest[at + words.len()..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        parts
    }

    /// Splits sentences, one after the other.
    pub(crate) fn sentences<S: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = S>) -> Vec<Sentence> {
        texts.into_iter().map(|text| self.sentence(text.as_ref())).collect()
    }

    /// Place of the first new term in `text`, and the term. `within`: a term ends right before the text.
    fn first_term(&self, text: &str, within: bool) -> Option<(usize, &'static str, &'static str)> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '=');
        let mut before = within.then_some('x');
        for (at, c) in text.char_indices() {
            if !before.is_some_and(is_part) {
                let here = &text[at..];
                let starts =
                    |words: &&&'static str| here.strip_prefix(**words).is_some_and(|rest| !rest.starts_with(is_part));
                let found = TERMS.iter().find_map(|term| Some((term.id, *term.words.iter().find(starts)?)));
                if let Some((id, words)) = found.filter(|(id, _)| !self.known.contains(id)) {
                    return Some((at, id, words));
                }
            }
            before = Some(c);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sentences: &[Sentence]) -> Vec<String> {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Term { id, words } => format!("[{id}: {words}]"),
        };
        sentences.iter().map(|sentence| sentence.iter().map(part).collect()).collect()
    }

    #[test]
    fn the_first_occurrence_of_a_term_is_explained() {
        let sentences =
            Reader::default().sentences(["SYN/ACKs, SYNs; syn_prio, SYN-only", "an RTO of 1 s: SYN lost, RTOs"]);
        assert_eq!(
            shown(&sentences),
            ["[synack: SYN/ACKs], [syn: SYNs]; syn_prio, SYN-only", "an [rto: RTO] of 1 s: SYN lost, RTOs"]
        );
    }

    #[test]
    fn sentences_keep_their_text() {
        for text in ["", "SYN", "§ SYN", "SYN SYN/ACK segmentsé segments", "a–segment <b>", "SYNSYN"] {
            let sentence = Reader::default().sentence(text);
            let words = |part: &Part| match part {
                Part::Text(text) => text.clone(),
                Part::Term { words, .. } => (*words).to_owned(),
            };
            assert_eq!(sentence.iter().map(words).collect::<String>(), text);
        }
    }
}
