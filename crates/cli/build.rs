//! Compresses the page of `gentle lab` and lists its files for the program; none if `lab/build` was not run before.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const PAGE: &str = "../../lab/dist";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={PAGE}");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let mut names = Vec::new();
    collect(Path::new(PAGE), "", &mut names)?;
    names.sort();
    let mut list = String::from("&[\n");
    for (index, name) in names.iter().enumerate() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(Path::new(PAGE).join(name))?)?;
        fs::write(out.join(format!("page-{index}.gz")), encoder.finish()?)?;
        writeln!(list, "({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/page-{index}.gz\"))),")
            .map_err(io::Error::other)?;
    }
    list.push(']');
    fs::write(out.join("page.rs"), list)
}

/// Adds the names of all files below a folder, except hidden ones, which are not part of the page.
fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let name = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}
