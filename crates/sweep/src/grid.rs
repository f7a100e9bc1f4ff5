//! Grids: points, schemes and seeds of a sweep, read from TOML.

use crate::axis::{Axis, AxisValue, Coordinate, Values, axes};
use crate::base::{Base, CURRENT_HOSTS, Inputs, Resolver, Setting, plain};
use crate::design::Design;
use crate::error::PointError;
use crate::metrics;
use crate::row::FIXED;
use gentle_aqm::Spec;
use gentle_experiment::section::{Item, Section, Source};
use gentle_experiment::{DEFAULT_BINS, Direction, RunRecord, Scenario, ScenarioError};
use gentle_runs::hash;
use gentle_units::Rate;
use gentle_units::foreign::check_name;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Maximum number of seeds of a scheme at a point.
const MOST_SEEDS: u64 = 100_000;
/// Maximum number of points of a Latin hypercube sample, which is held in memory.
const MOST_SAMPLED: u64 = 1_000_000;
/// Metric of [`UntilCi`] unless another is named.
const METRIC: &str = gentle_experiment::results::HEADLINE;

/// Reads the text of a file by its path.
pub type Files<'a> = &'a dyn Fn(&str) -> io::Result<String>;

/// Points, schemes and seeds of a sweep.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Name of the file, for messages.
    pub file: String,
    /// Seeds of each scheme at each point, at first.
    pub seeds: Vec<u64>,
    /// Upper ends, ascending, of the ranges of connection sizes in segments.
    pub bins: Vec<u64>,
    /// True if a row per connection of each run is wanted.
    pub connections: bool,
    /// Rule for more seeds; `None`: no more than `seeds`.
    pub until_ci: Option<UntilCi>,
    /// Warnings about values that are valid but possibly unintended.
    pub warnings: Vec<String>,
    points: Points,
    schemes: Vec<Spec>,
    inputs: Inputs,
}

/// Adds seeds to a scheme at a point while the 95 % confidence interval of the mean of a metric is wide.
#[derive(Debug, Clone, PartialEq)]
pub struct UntilCi {
    /// Half-width of the interval, as a fraction of the mean, at which it is narrow enough.
    pub relative: f64,
    /// Metric: the name of a column.
    pub metric: String,
    /// Maximum number of seeds.
    pub max_seeds: u64,
}

#[derive(Debug, Clone)]
enum Points {
    Design { base: Base, axes: Vec<Axis>, design: Design },
    Listed(Vec<Listed>),
}

/// A point that is listed.
#[derive(Debug, Clone)]
struct Listed {
    base: Base,
    settings: Vec<Setting>,
    labels: Vec<Setting>,
    coordinates: BTreeMap<String, Coordinate>,
    place: Option<(usize, usize)>,
}

/// A point: a scenario and the schemes that run under it.
#[derive(Debug, Clone)]
pub(crate) struct Point<'a> {
    pub(crate) base: &'a Base,
    pub(crate) settings: Vec<Setting>,
    pub(crate) coordinates: BTreeMap<String, Coordinate>,
    pub(crate) scenario: Scenario,
    pub(crate) schemes: Vec<SchemeAt>,
}

/// A scheme at a point, with the coordinates that its options have.
#[derive(Debug, Clone)]
pub(crate) struct SchemeAt {
    pub(crate) spec: Spec,
    pub(crate) coordinates: BTreeMap<String, Coordinate>,
}

/// Axis of a scheme option.
struct OptionAxis<'a> {
    path: &'a str,
    /// Scheme that it is restricted to.
    scheme: Option<&'a str>,
    option: &'a str,
    value: AxisValue,
    /// True at the first value of the axis, where schemes without this option have their run.
    is_first: bool,
}

impl Grid {
    /// Reads a grid. `file` is its name in messages; `read` returns the text of a file by its path.
    ///
    /// # Errors
    /// The text is not a grid, or a file that it names cannot be read.
    pub fn from_toml(file: &str, text: &str, read: Files<'_>) -> Result<Grid, ScenarioError> {
        let warnings = RefCell::default();
        let source = Source { file, text, warnings: &warnings };
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        let mut root = source.root()?;
        let mut inputs = Inputs::new();
        let traffic = root.take("traffic");
        let schemes = match root.take("schemes") {
            None => Vec::new(),
            Some(item) => {
                let items = item.array("[\"pfifo limit=50\", \"spa\"]")?;
                let specs = items.iter().map(|item| item.text()?.parse().map_err(|error| item.error(error)));
                specs.collect::<Result<Vec<Spec>, _>>()?
            }
        };
        if let Some(twice) = (1..schemes.len()).find(|index| schemes[..*index].contains(&schemes[*index])) {
            return Err(root.error(format!("schemes: {} is given twice; give it once", schemes[twice])));
        }
        let seeds = seeds(root.take("seeds"))?;
        let bins = bins(root.take("bins"))?;
        let until_ci = until_ci(&mut root, &seeds, &bins)?;
        let connections = match root.take("connections") {
            None => false,
            Some(item) => item.flag()?,
        };
        let sample = root.section("sample")?;
        let axes = match root.section("axes")? {
            Some(section) => axes(section, sample.is_some())?,
            None => Vec::new(),
        };
        let listed = root.take("point");
        let root_error = root.error("");
        let error = |problem: String| ScenarioError { problem, ..root_error.clone() };
        root.finish()?;
        for axis in &axes {
            remarks(file, axis, &warnings);
        }
        let mut loader = Loader { file, read, inputs: &mut inputs, warnings: &warnings };
        let inline = table.get("traffic").and_then(toml::Value::as_table);
        let base = |loader: &mut Loader<'_, '_>| match &traffic {
            None => loader.base("real", &error),
            Some(item) => loader.item(item, inline),
        };
        let points = match listed {
            Some(_) if !axes.is_empty() || sample.is_some() => {
                return Err(error("[[point]] lists all points; expected no [axes] and no [sample] with it".to_owned()));
            }
            Some(item) => {
                let written = table.get("point").and_then(toml::Value::as_array);
                Points::Listed(listed_points(item, written, &mut loader, base)?)
            }
            None => {
                for axis in &axes {
                    check_path(axis, &bins, |problem| error_at(file, axis.place, problem))?;
                }
                let mut base = base(&mut loader)?;
                for axis in &axes {
                    loader.files_of(axis, &mut base)?;
                }
                let design = match sample {
                    None => Design::Product,
                    Some(section) => sampled(section, &axes)?,
                };
                if design.len(&axes).is_none_or(|points| points > u32::MAX as usize) {
                    return Err(error(
                        "the axes have more than 4294967295 points together; expected fewer values, or a [sample]"
                            .to_owned(),
                    ));
                }
                Points::Design { base, axes, design }
            }
        };
        Ok(Grid {
            file: file.to_owned(),
            seeds,
            bins,
            connections,
            until_ci,
            points,
            schemes,
            inputs,
            warnings: warnings.into_inner(),
        })
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        match &self.points {
            Points::Listed(points) => points.len(),
            Points::Design { axes, design, .. } => design.len(axes).unwrap_or(usize::MAX),
        }
    }

    /// True without points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Columns of the axes, sorted by name; true for texts.
    pub fn axes(&self) -> Vec<(String, bool)> {
        let is_text = |coordinate: &Coordinate| matches!(coordinate, Coordinate::Text(_));
        match &self.points {
            Points::Design { axes, .. } => {
                let columns = axes.iter().map(|axis| match &axis.values {
                    Values::List(values) => (axis.path.clone(), values.iter().any(|value| is_text(&value.coordinate))),
                    Values::Range(_) => (axis.path.clone(), false),
                });
                columns.collect()
            }
            Points::Listed(points) => {
                let all = points.iter().flat_map(|point| &point.coordinates);
                let all: BTreeMap<String, bool> =
                    all.map(|(path, coordinate)| (path.clone(), is_text(coordinate))).collect();
                all.into_iter().collect()
            }
        }
    }

    /// All queues of all points, each once: queues under test, and queues of the reverse links.
    ///
    /// # Errors
    /// A point is no valid scenario.
    pub fn queues(&self) -> Result<Vec<Spec>, ScenarioError> {
        let mut queues = Vec::new();
        let mut resolver = Resolver::default();
        for index in 0..self.len() {
            let point = self.point(index, &mut resolver)?;
            let back = point.scenario.link(Direction::Up).qdisc.clone();
            let schemes = point.schemes.into_iter().map(|scheme| scheme.spec);
            for spec in schemes.chain([back]) {
                if !queues.contains(&spec) {
                    queues.push(spec);
                }
            }
        }
        Ok(queues)
    }

    /// Files that the scenarios refer to.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The point with this index.
    pub(crate) fn point(&self, index: usize, resolver: &mut Resolver) -> Result<Point<'_>, ScenarioError> {
        match &self.points {
            Points::Listed(points) => {
                let point = &points[index];
                let made = self.at(resolver, &point.base, point.settings.clone(), point.coordinates.clone(), &[]);
                made.map_err(|error| error_at(&self.file, point.place, error.problem))
            }
            Points::Design { base, axes, design } => {
                let indices = design.indices(axes, index);
                let (mut settings, mut coordinates, mut options) = (Vec::new(), BTreeMap::new(), Vec::new());
                for (number, (axis, value)) in axes.iter().zip(design.at(axes, index)).enumerate() {
                    match option_of(&axis.path) {
                        Some((scheme, option)) => options.push(OptionAxis {
                            path: &axis.path,
                            scheme,
                            option,
                            value,
                            is_first: indices.as_ref().is_none_or(|indices| indices[number] == 0),
                        }),
                        None => {
                            coordinates.insert(axis.path.clone(), value.coordinate);
                            settings.push((axis.path.clone(), value.value));
                        }
                    }
                }
                let made = self.at(resolver, base, settings.clone(), coordinates, &options);
                made.map_err(|error| {
                    let axis = axes.iter().find(|axis| Some(&axis.path) == error.axis.as_ref());
                    let others = settings.iter().filter(|(path, _)| Some(path) != error.axis.as_ref());
                    let others: Vec<String> =
                        others.map(|(path, value)| format!("{path} = {}", plain(value))).collect();
                    let at = match others.is_empty() {
                        true => String::new(),
                        false => format!(" (at {})", others.join(", ")),
                    };
                    error_at(&self.file, axis.and_then(|axis| axis.place), format!("{}{at}", error.problem))
                })
            }
        }
    }

    fn at<'a>(
        &self,
        resolver: &mut Resolver,
        base: &'a Base,
        settings: Vec<Setting>,
        coordinates: BTreeMap<String, Coordinate>,
        options: &[OptionAxis<'_>],
    ) -> Result<Point<'a>, PointError> {
        let scenario = resolver.scenario(base, &settings, &self.inputs)?;
        let templates = match self.schemes.is_empty() {
            true => scenario.schemes_to_compare(),
            false => self.schemes.clone(),
        };
        let unused = |axis: &&OptionAxis<'_>| {
            let mut all = templates.iter();
            !all.any(|spec| takes(spec, axis.scheme, axis.option))
        };
        if let Some(axis) = options.iter().find(unused) {
            let labels: Vec<String> = templates.iter().map(Spec::to_string).collect();
            return Err(PointError::of(
                axis.path,
                format!(
                    "no scheme can vary this option; choose an option of {} that is not already set",
                    labels.join(", ")
                ),
            ));
        }
        let mut schemes: Vec<SchemeAt> = Vec::new();
        for template in templates {
            if let Some(scheme) = with_options(&template, options)?
                && !schemes.iter().any(|known| known.spec == scheme.spec)
            {
                schemes.push(scheme);
            }
        }
        Ok(Point { base, settings, coordinates, scenario, schemes })
    }
}

/// Scheme and option of an axis `scheme.OPTION` or `scheme.SCHEME.OPTION`.
fn option_of(path: &str) -> Option<(Option<&str>, &str)> {
    let rest = path.strip_prefix("scheme.")?;
    Some(match rest.split_once('.') {
        None => (None, rest),
        Some((scheme, option)) => (Some(scheme), option),
    })
}

/// True if the axis of an option changes this scheme: it has the option, and does not set it itself.
fn takes(spec: &Spec, scheme: Option<&str>, option: &str) -> bool {
    scheme.is_none_or(|name| spec.scheme().name == name)
        && spec.given(option).is_none()
        && spec.settings().iter().any(|(name, _)| name == option)
}

/// The scheme with the options of the axes that concern it; `None` if another point has its run.
fn with_options(template: &Spec, options: &[OptionAxis<'_>]) -> Result<Option<SchemeAt>, PointError> {
    let mut text = template.to_string();
    let mut coordinates = BTreeMap::new();
    let mut last = None;
    for axis in options {
        if takes(template, axis.scheme, axis.option) {
            text += &format!(" {}={}", axis.option, plain(&axis.value.value));
            coordinates.insert(axis.path.to_owned(), axis.value.coordinate.clone());
            last = Some(axis.path);
        } else if !axis.is_first {
            return Ok(None);
        }
    }
    let spec = match last {
        None => template.clone(),
        Some(path) => text.parse().map_err(|error| PointError::of(path, error))?,
    };
    Ok(Some(SchemeAt { spec, coordinates }))
}

fn error_at(file: &str, place: Option<(usize, usize)>, problem: impl Into<String>) -> ScenarioError {
    ScenarioError { file: file.to_owned(), place, problem: problem.into() }
}

/// Rejects names of other columns.
fn check_path(axis: &Axis, bins: &[u64], error: impl Fn(String) -> ScenarioError) -> Result<(), ScenarioError> {
    let path = &axis.path;
    if FIXED.contains(&path.as_str())
        || RunRecord::metric_names(bins.len() + 1).any(|name| name == *path)
        || metrics::is_of_application(path)
    {
        return Err(error(format!(
            "'{path}' is a column of the results; expected a key of the scenario, {}, tcp.KNOB or scheme.OPTION",
            crate::base::OPTIONS.join(", ")
        )));
    }
    let known = |c: char| c.is_alphanumeric() || ['_', '-', '.', ' '].contains(&c);
    if !path.chars().all(known) || check_name(path).is_err() {
        return Err(error(format!("'{path}' cannot be an axis: expected letters, digits, '_', '-', '.' and spaces")));
    }
    if path.split('.').any(str::is_empty) || ["schemes", "choices", "title", "source"].contains(&path.as_str()) {
        return Err(error(format!("'{path}' cannot be an axis: it does not change the runs of a scheme")));
    }
    Ok(())
}

/// Warns about rates in bytes per second.
fn remarks(file: &str, axis: &Axis, warnings: &RefCell<Vec<String>>) {
    let Values::List(values) = &axis.values else {
        return;
    };
    for value in values {
        if let Some(remark) = value.value.as_str().and_then(Rate::remark) {
            let warning = error_at(file, axis.place, format!("{}: {remark}", axis.path));
            warnings.borrow_mut().push(warning.to_string());
        }
    }
}

fn seeds(item: Option<Item<'_>>) -> Result<Vec<u64>, ScenarioError> {
    let Some(item) = item else {
        return Ok((1..=5).collect());
    };
    if !item.is_array() {
        return Ok((1..=item.count(1..=MOST_SEEDS)?).collect());
    }
    let twice = item.error("a seed is given twice; give it once");
    let items = item.array("[1, 2, 3]")?;
    let seeds = items.iter().map(|item| item.count(0..=i64::MAX as u64));
    let mut seeds = seeds.collect::<Result<Vec<u64>, _>>()?;
    seeds.sort_unstable();
    match seeds.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(twice),
        false => Ok(seeds),
    }
}

fn bins(item: Option<Item<'_>>) -> Result<Vec<u64>, ScenarioError> {
    let Some(item) = item else {
        return Ok(DEFAULT_BINS.to_vec());
    };
    let order = item.error("expected sizes in segments of at least 1 in ascending order, such as [3, 10, 100]");
    let items = item.array("[3, 10, 100]")?;
    let bins = items.iter().map(|item| item.count(1..=i64::MAX as u64));
    let bins = bins.collect::<Result<Vec<u64>, _>>()?;
    match bins.is_sorted_by(|a, b| a < b) {
        true => Ok(bins),
        false => Err(order),
    }
}

fn until_ci(root: &mut Section<'_>, seeds: &[u64], bins: &[u64]) -> Result<Option<UntilCi>, ScenarioError> {
    let relative = root.take("until_ci");
    let metric = root.take("metric");
    let most = root.take("max_seeds");
    let Some(relative) = relative else {
        return match metric.or(most) {
            Some(item) => Err(item.error("applies with until_ci only; add until_ci = 0.02 or leave it out")),
            None => Ok(None),
        };
    };
    let at_least = seeds.len() as u64;
    let max_seeds = match most {
        Some(item) => item.count(at_least.max(2)..=MOST_SEEDS)?,
        None => (10 * at_least).max(100),
    };
    let name = match metric {
        None => METRIC.to_owned(),
        Some(item) => {
            let name = item.text()?;
            let names: Vec<String> = RunRecord::metric_names(bins.len() + 1).collect();
            // The applications are known only after the scenarios have been read.
            if !metrics::is_of_application(name) && !names.iter().any(|known| known == name) {
                let meant = gentle_units::suggestion(name, names.iter().map(String::as_str));
                return Err(item.error(format!("no metric '{name}'{meant}; expected one of {}", names.join(", "))));
            }
            name.to_owned()
        }
    };
    if seeds.len() < 2 {
        return Err(relative.error("a confidence interval needs two seeds; expected seeds = 2 or more"));
    }
    Ok(Some(UntilCi { relative: relative.real(1e-6..=1.0)?, metric: name, max_seeds }))
}

fn sampled(mut section: Section<'_>, axes: &[Axis]) -> Result<Design, ScenarioError> {
    let points = section.require("latin_hypercube", "100")?.count(1..=MOST_SAMPLED)?;
    let seed = match section.take("seed") {
        Some(item) => item.count(0..=u64::MAX)?,
        None => 1,
    };
    if axes.is_empty() {
        return Err(section.error("a sample needs axes; expected [axes] with ranges"));
    }
    section.finish()?;
    Ok(Design::latin_hypercube(axes, points as usize, seed))
}

/// Reads `[[point]]` tables: `set` changes the scenario and adds columns, `labels` only adds columns, and `traffic`
/// replaces the grid's.
fn listed_points<'l, 'r>(
    item: Item<'_>,
    written: Option<&toml::value::Array>,
    loader: &mut Loader<'l, 'r>,
    base: impl Fn(&mut Loader<'l, 'r>) -> Result<Base, ScenarioError>,
) -> Result<Vec<Listed>, ScenarioError> {
    let mut points = Vec::new();
    let mut common = None;
    for (index, item) in item.array("[[point]]")?.into_iter().enumerate() {
        let place = item.place();
        let mut section = item.section()?;
        let inline = written.and_then(|list| list.get(index)?.get("traffic")?.as_table());
        let base = match section.take("traffic") {
            Some(item) => loader.item(&item, inline)?,
            None => match &common {
                Some(base) => Base::clone(base),
                None => common.insert(base(loader)?).clone(),
            },
        };
        let mut point = Listed { base, settings: Vec::new(), labels: Vec::new(), coordinates: BTreeMap::new(), place };
        for (key, changes) in [("set", true), ("labels", false)] {
            let Some(section) = section.section(key)? else {
                continue;
            };
            for axis in axes(section, false)? {
                let error = |problem| error_at(loader.file, axis.place, problem);
                check_path(&axis, &[], error)?;
                let Values::List(values) = &axis.values else {
                    continue;
                };
                let [value] = &values[..] else {
                    return Err(error(format!("{}: a point has one value; expected a scalar", axis.path)));
                };
                let setting = (axis.path.clone(), value.value.clone());
                if changes {
                    loader.files_of(&axis, &mut point.base)?;
                    point.settings.push(setting);
                } else {
                    if let Coordinate::Text(text) = &value.coordinate {
                        check_name(text).map_err(|expected| error(format!("{}: {expected}", axis.path)))?;
                    }
                    point.labels.push(setting);
                }
                point.coordinates.insert(axis.path, value.coordinate.clone());
            }
        }
        section.finish()?;
        points.push(point);
    }
    one_type(&mut points);
    Ok(points)
}

/// Makes texts of the coordinates of axes that are not numbers at every point.
fn one_type(points: &mut [Listed]) {
    let texts = points.iter().flat_map(|point| &point.coordinates);
    let texts = texts.filter(|(_, coordinate)| matches!(coordinate, Coordinate::Text(_)));
    let texts: Vec<String> = texts.map(|(path, _)| path.clone()).collect();
    for point in points {
        for path in &texts {
            if let Some(coordinate) = point.coordinates.get_mut(path)
                && let Coordinate::Number(number) = coordinate
            {
                let mut given = point.settings.iter().chain(&point.labels);
                let given = given.find(|(known, _)| known == path);
                *coordinate = Coordinate::Text(given.map_or_else(|| number.to_string(), |(_, value)| plain(value)));
            }
        }
    }
}

/// Reads the files that a grid names.
struct Loader<'a, 'b> {
    file: &'a str,
    read: Files<'a>,
    inputs: &'b mut Inputs,
    warnings: &'b RefCell<Vec<String>>,
}

impl Loader<'_, '_> {
    fn item(&mut self, item: &Item<'_>, inline: Option<&toml::Table>) -> Result<Base, ScenarioError> {
        let error = |problem: String| item.error(problem);
        match inline {
            Some(keys) => {
                let name = stem(self.file);
                self.scenario(&name, keys.clone(), "", &error)
            }
            None => self.base(item.text()?, &error),
        }
    }

    /// The base named `traffic`: a built-in scenario, a scenario file or a flow list.
    fn base(&mut self, traffic: &str, error: &dyn Fn(String) -> ScenarioError) -> Result<Base, ScenarioError> {
        if let Some(text) = Scenario::builtin_toml(traffic) {
            let mut keys: toml::Table = toml::from_str(text).map_err(|e| error(e.to_string()))?;
            let mut hosts = toml::Table::new();
            hosts.insert("profile".to_owned(), CURRENT_HOSTS.into());
            keys.insert("hosts".to_owned(), hosts.into());
            return Ok(Base::Scenario { file: traffic.to_owned(), keys, files: BTreeMap::new() });
        }
        let ending = Path::new(traffic).extension().and_then(|ending| ending.to_str());
        let text = match ending {
            Some("toml" | "csv") => self.beside("", traffic, error)?,
            _ => {
                let known = gentle_experiment::BUILTIN;
                return Err(error(format!(
                    "'{traffic}' is not a scenario; expected {}, a scenario file ending in .toml or a flow list ending \
                     in .csv{}",
                    known.join(", "),
                    gentle_units::suggestion(traffic, known)
                )));
            }
        };
        if ending == Some("csv") {
            Scenario::from_flows(traffic, &text)?;
            return Ok(Base::Flows { file: traffic.to_owned(), hash: self.keep(text) });
        }
        let folder = Path::new(traffic).parent().and_then(Path::to_str).unwrap_or_default();
        // Read for errors that name lines of the file.
        let read = |file: &str| (self.read)(&join(folder, file));
        let scenario = Scenario::from_toml(traffic, &text, &read)?;
        self.warnings.borrow_mut().extend(scenario.warnings);
        let keys = toml::from_str(&text).map_err(|e| error(e.to_string()))?;
        self.scenario(traffic, keys, folder, error)
    }

    fn scenario(
        &mut self,
        file: &str,
        keys: toml::Table,
        folder: &str,
        error: &dyn Fn(String) -> ScenarioError,
    ) -> Result<Base, ScenarioError> {
        let mut files = BTreeMap::new();
        let workloads = keys.get("workload").and_then(toml::Value::as_array);
        for workload in workloads.into_iter().flatten() {
            if let Some(path) = workload.get("file").and_then(toml::Value::as_str) {
                let text = self.beside(folder, path, error)?;
                files.insert(path.to_owned(), self.keep(text));
            }
        }
        Ok(Base::Scenario { file: file.to_owned(), keys, files })
    }

    /// Reads the files that are values of an axis: `workload.0.file`.
    fn files_of(&mut self, axis: &Axis, base: &mut Base) -> Result<(), ScenarioError> {
        let (Base::Scenario { file, files, .. }, Values::List(values)) = (base, &axis.values) else {
            return Ok(());
        };
        let names_files = (axis.path.starts_with("workload.") && axis.path.ends_with(".file"))
            || (axis.path.starts_with("link.") && axis.path.ends_with(".trace"));
        if !names_files {
            return Ok(());
        }
        let folder = Path::new(file.as_str()).parent().and_then(Path::to_str).unwrap_or_default().to_owned();
        let name = self.file.to_owned();
        for value in values {
            let path = plain(&value.value);
            let error = |problem: String| error_at(&name, axis.place, format!("{}: {problem}", axis.path));
            let text = self.beside(&folder, &path, &error)?;
            let hash = self.keep(text);
            files.insert(path, hash);
        }
        Ok(())
    }

    fn beside(
        &self,
        folder: &str,
        file: &str,
        error: &dyn Fn(String) -> ScenarioError,
    ) -> Result<String, ScenarioError> {
        let path = join(folder, file);
        (self.read)(&path).map_err(|e| error(format!("{path}: cannot be read: {e}")))
    }

    fn keep(&mut self, text: String) -> String {
        let hash = hash(text.as_bytes());
        self.inputs.insert(hash.clone(), text.into());
        hash
    }
}

fn join(folder: &str, file: &str) -> String {
    Path::new(folder).join(file).to_string_lossy().into_owned()
}

/// File name without folders and extension.
fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem();
    stem.map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}
