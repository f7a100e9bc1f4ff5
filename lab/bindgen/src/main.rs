//! Makes of the WebAssembly module of `gentle-lab` what a page imports: gentle-lab-bindgen MODULE.wasm FOLDER

use anyhow::{Context, anyhow};
use std::env;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (Some(module), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err(anyhow!("usage: gentle-lab-bindgen MODULE.wasm FOLDER"));
    };
    Bindgen::new()
        .input_path(&module)
        .web(true)?
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .out_name("gentle_lab")
        .generate(&folder)
        .with_context(|| format!("{}", module.display()))
}
