//! Files of `--names`.

use crate::files::is_stdin;
use crate::input::{read_text, read_text_from};
use crate::usage::Usage;
use anyhow::Context;
use gentle_trace::names::GivenNames;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

/// Largest size of a file, bytes: kubectl prints about 10 kB for a pod.
const MAX_NAMES: usize = 256 << 20;

/// Reads all files.
pub(crate) fn read(paths: &[PathBuf]) -> anyhow::Result<Arc<GivenNames>> {
    let mut names = GivenNames::default();
    for path in paths {
        let file = path.display().to_string();
        let text = match is_stdin(path) {
            true if io::stdin().is_terminal() => {
                return Err(Usage(format!(
                    "--names {file} is standard input, which is a terminal here; pipe names into it, as in kubectl get \
                     services,pods,endpointslices -A -o json | gentle analyze --names - CAPTURE"
                ))
                .into());
            }
            true => read_text_from(io::stdin(), MAX_NAMES),
            false => read_text(path, MAX_NAMES),
        };
        let text = text.with_context(|| format!("{file}: cannot be read"))?;
        names.read(&text).context(file)?;
    }
    Ok(Arc::new(names))
}
