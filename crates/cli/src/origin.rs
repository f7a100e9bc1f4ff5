//! Provenance of a page: the command line and the date.

use crate::command_line::command;
use crate::usage::Usage;
use gentle_report::Origin;
use jiff::Timestamp;
use std::env;

/// Origin of a page that `tool` (`gentle compare`) writes now.
///
/// The date is `SOURCE_DATE_EPOCH`, seconds since 1970, if that is set, so that reproduced pages are byte-identical
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
pub(crate) fn origin(tool: &str) -> Result<Origin, Usage> {
    origin_of(tool, Some(command()))
}

/// Origin of a page that is written now, with results that `tool` made when called as `command`.
pub(crate) fn origin_of(tool: &str, command: Option<String>) -> Result<Origin, Usage> {
    let date = match env::var("SOURCE_DATE_EPOCH") {
        Err(_) => Timestamp::now(),
        Ok(text) => {
            let seconds = text.parse().ok();
            seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).ok_or_else(|| {
                Usage(format!("SOURCE_DATE_EPOCH is {text:?}: expected seconds since 1970, such as 1767323040"))
            })?
        }
    };
    Ok(Origin { tool: tool.to_owned(), command, date: Some(date) })
}
