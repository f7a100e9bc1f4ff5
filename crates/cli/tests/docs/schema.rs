//! Pages on the fields of JSON outputs, generated from the schemas that `gentle schema` prints.

use super::{cell, root, updates};
use serde_json::Value;
use std::fmt::Write as _;
use std::process::Command;

/// Outputs: the argument of `gentle schema`, and the commands that print them.
const OUTPUTS: [(&str, &str); 10] = [
    ("analyze", "`gentle analyze --json` and `gentle merge --json`; with `--per-file` each line"),
    ("compare", "`--json` of `gentle compare`, `gentle sim`, `gentle testbed run` and `gentle testbed compare`"),
    ("model", "`gentle model --json`"),
    ("probe", "each line of `gentle probe --json`"),
    ("qdisc-show", "`gentle qdisc show --json`; with `--watch` each line"),
    ("reproduce", "each line of `gentle reproduce --json`"),
    ("reproduce-coverage", "`gentle reproduce --coverage --json`"),
    ("sweep", "`gentle sweep --json`"),
    ("testbed-check", "`gentle testbed check --json`"),
    ("watch", "each line of `gentle watch --json`"),
];

fn text<'a>(node: &'a Value, key: &str) -> &'a str {
    node[key].as_str().unwrap_or_default()
}

/// Name of the type that a node refers to.
fn reference(node: &Value) -> Option<&str> {
    node["$ref"].as_str()?.rsplit('/').next()
}

/// A description without links to Rust items, on one line.
fn description(node: &Value) -> String {
    let mut plain = String::new();
    let text = text(node, "description").replace('\n', " ").replace("`None`", "`null`");
    let mut rest = text.as_str();
    while let Some(at) = rest.find("[`") {
        let (before, link) = rest.split_at(at);
        let Some((item, after)) = link[1..].split_once(']') else { break };
        plain += before;
        plain += item;
        rest = after.strip_prefix('(').and_then(|after| after.split_once(')')).map_or(after, |(_, after)| after);
    }
    cell(&(plain + rest))
}

/// A type in words.
fn kind(node: &Value) -> String {
    if let Some(name) = reference(node) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(constant) = node["const"].as_str() {
        return format!("`{constant}`");
    }
    if let Some(choices) = node["anyOf"].as_array().or_else(|| node["oneOf"].as_array()) {
        return choices.iter().map(kind).collect::<Vec<String>>().join(" or ");
    }
    let one = |name: &str| match name {
        "array" => match node["prefixItems"].as_array() {
            Some(items) => format!("[{}]", items.iter().map(kind).collect::<Vec<String>>().join(", ")),
            None => format!("list of {}", kind(&node["items"])),
        },
        "object" if node["additionalProperties"].is_object() => {
            format!("map to {}", kind(&node["additionalProperties"]))
        }
        "null" => "`null`".to_owned(),
        name => name.to_owned(),
    };
    match &node["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).map(one).collect::<Vec<String>>().join(" or "),
        _ => "any".to_owned(),
    }
}

/// Names of the types below a node, in order.
fn references(node: &Value, into: &mut Vec<String>) {
    match node {
        Value::Object(fields) => {
            into.extend(reference(node).map(str::to_owned));
            fields.iter().filter(|(key, _)| *key != "$defs").for_each(|(_, value)| references(value, into));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        _ => {}
    }
}

/// Table of the fields of an object, in the order of the program.
fn fields(node: &Value) -> String {
    let mut table = "| field | type | meaning |\n| --- | --- | --- |\n".to_owned();
    let properties = node["properties"].as_object().expect("an object");
    let required = node["required"].as_array().map_or(&[][..], Vec::as_slice);
    let is_required = |name: &String| required.iter().any(|known| known == name);
    let first = required.iter().filter_map(Value::as_str).map(str::to_owned);
    let names = first.chain(properties.keys().filter(|name| !is_required(name)).cloned());
    for name in names {
        let Some(field) = properties.get(&name) else { continue };
        let absent = if is_required(&name) { "" } else { ", or absent" };
        let _ = writeln!(table, "| `{name}` | {}{absent} | {} |", kind(field), description(field));
    }
    table
}

/// Table of the values of a type that is one of several.
fn choices(choices: &[Value]) -> String {
    let mut table = "| value | meaning |\n| --- | --- |\n".to_owned();
    for choice in choices {
        let properties = choice["properties"].as_object();
        let tag = properties.and_then(|fields| fields.iter().find(|(_, field)| field["const"].is_string()));
        let value = match tag {
            Some((name, field)) => format!("`{name}`: {}", kind(field)),
            None => kind(choice),
        };
        let mut meaning = description(choice);
        for (name, field) in properties.into_iter().flatten().filter(|(name, _)| tag.is_none_or(|tag| tag.0 != *name)) {
            let _ = write!(meaning, " `{name}` ({}): {}", kind(field), description(field));
        }
        if let Some(name) = reference(choice).filter(|_| tag.is_some()) {
            let _ = write!(meaning, " Further fields: [{name}](#{}).", name.to_lowercase());
        }
        let _ = writeln!(table, "| {value} | {meaning} |");
    }
    table
}

/// Section on a type.
fn section(name: &str, node: &Value) -> String {
    let table = match node["oneOf"].as_array().or_else(|| node["anyOf"].as_array()) {
        Some(list) => choices(list),
        None if node["properties"].is_object() => fields(node),
        None => return format!("\n## {name}\n\n{} ({})\n", description(node), kind(node)),
    };
    format!("\n## {name}\n\n{}\n\n{table}", description(node))
}

/// Page on an output.
fn page(schema: &Value, output: &str, commands: &str) -> String {
    let title = text(schema, "title");
    let mut page = format!(
        "# JSON of gentle {}\n\nFields of {commands}. This page is generated from `gentle schema {output}`; \
         [JSON](../json.md) has the conventions.\n",
        output.replace('-', " ")
    );
    page += &section(title, schema);
    let mut names = Vec::new();
    references(schema, &mut names);
    let mut done = 0;
    while let Some(name) = names.get(done).cloned() {
        done += 1;
        if names[..done - 1].contains(&name) {
            continue;
        }
        let node = &schema["$defs"][&name];
        page += &section(&name, node);
        references(node, &mut names);
    }
    page
}

#[test]
fn every_field_of_json_is_in_the_book() {
    for (output, commands) in OUTPUTS {
        let printed = Command::new(env!("CARGO_BIN_EXE_gentle")).args(["schema", output]).output().unwrap();
        let schema: Value = serde_json::from_slice(&printed.stdout).unwrap();
        let made = page(&schema, output, commands);
        let name = format!("docs/reference/json/{output}.md");
        let path = root().join(&name);
        if updates() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, made).unwrap();
            continue;
        }
        assert!(std::fs::read_to_string(&path).is_ok_and(|page| page == made), "{name} is out of date; {}", super::HOW);
    }
}
