//! Figures as SVG.

use super::fixture::{SCHEMES, charts, stacked};
use gentle_papers::{Axis, BarSeries, Bars, Chart, Curves, Draw, Estimate, Line, Point, Scale};
use gentle_report::figure::{Width, svg};
use proptest::prelude::*;
use roxmltree::{Document, Node};

const WIDTHS: [Width; 2] = [Width::Column, Width::Text];

/// Texts of a drawing, which is well-formed.
fn words(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}\n{svg}"));
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or_default().trim().to_owned()).collect()
}

/// Names of series and categories, and titles of axes.
fn labels(chart: &Chart) -> Vec<String> {
    let title = |axis: &Axis| match axis.unit.as_str() {
        "" => axis.label.clone(),
        unit => format!("{} ({unit})", axis.label),
    };
    match chart {
        Chart::Bars(bars) => {
            let series = bars.series.iter().map(|series| series.label.clone());
            series.chain(bars.categories.iter().cloned()).chain([title(&bars.y)]).collect()
        }
        Chart::Curves(curves) => {
            let lines = curves.lines.iter().map(|line| line.label.clone());
            lines.chain([title(&curves.x), title(&curves.y)]).collect()
        }
    }
}

#[test]
fn an_svg_has_every_label() {
    for chart in charts() {
        for width in WIDTHS {
            let drawn = words(&svg(&chart, width));
            for label in labels(&chart) {
                assert!(drawn.contains(&label), "{label}: {drawn:?}");
            }
        }
    }
}

#[test]
fn figures_have_the_width_of_a_column_or_of_the_text() {
    for (width, millimetres) in [(Width::Column, "85mm"), (Width::Text, "170mm")] {
        let drawing = svg(&stacked(), width);
        let document = Document::parse(&drawing).unwrap();
        assert_eq!(document.root_element().attribute("width"), Some(millimetres));
    }
}

#[test]
fn same_chart_same_bytes() {
    for chart in charts() {
        assert!(svg(&chart, Width::Column) == svg(&chart, Width::Column));
    }
}

#[test]
fn a_drawing_stays_small_whatever_the_number_of_points() {
    let points = (0..500_000).map(|i| (f64::from(i), f64::from(i % 97)));
    let chart = Chart::curves("q", "queue", Axis::linear("time", "s"), Axis::linear("queue", "packets"));
    let drawing = svg(&chart.line("queue", points).into(), Width::Text);
    assert!(drawing.len() < 100_000, "{}", drawing.len());
}

/// A number attribute of an element.
fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

#[test]
fn names_of_schemes_do_not_overlap() {
    for width in WIDTHS {
        let drawing = svg(&stacked(), width);
        let document = Document::parse(&drawing).unwrap();
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        let names = texts.filter(|node| SCHEMES.contains(&node.text().unwrap_or_default().trim()));
        let mut lines: Vec<f64> = names.clone().map(|node| number(node, "y")).collect();
        assert_eq!(lines.len(), SCHEMES.len());
        lines.dedup();
        let height = names.map(|node| number(node, "font-size")).fold(0.0, f64::max);
        for pair in lines.windows(2) {
            assert!(pair[1] - pair[0] > height, "{pair:?}");
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z <&\"']{1,12}", "\\PC{0,300}", any::<String>()]
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![-1e3..1e3_f64, any::<f64>(), Just(0.0), Just(f64::NAN), Just(f64::INFINITY), Just(1e-300), Just(-1e300),]
}

prop_compose! {
    fn axis()(
        label in text(),
        unit in text(),
        log in any::<bool>(),
        range in proptest::option::of((value(), value())),
    ) -> Axis {
        Axis { label, unit, scale: if log { Scale::Log } else { Scale::Linear }, range }
    }
}

prop_compose! {
    fn line()(
        label in text(),
        draw in prop_oneof![Just(Draw::Line), Just(Draw::Steps), Just(Draw::Marks), Just(Draw::Points)],
        published in any::<bool>(),
        points in proptest::collection::vec((value(), value(), proptest::option::of(value())), 0..20),
    ) -> Line {
        let points = points.into_iter().map(|(x, y, ci95)| Point { x, y, ci95 });
        Line { label, draw, published, points: points.collect() }
    }
}

prop_compose! {
    fn curves()(
        title in text(),
        x in axis(),
        y in axis(),
        lines in proptest::collection::vec(line(), 0..20),
    ) -> Chart {
        Chart::Curves(Curves { id: "c".to_owned(), title, x, y, lines })
    }
}

prop_compose! {
    fn bars()(
        title in text(),
        categories in proptest::collection::vec(text(), 0..30),
        y in axis(),
        stacked in any::<bool>(),
        series in proptest::collection::vec(
            (text(), any::<bool>(), proptest::collection::vec(
                (proptest::option::of(value()), proptest::option::of(value())), 0..30)),
            0..6,
        ),
    ) -> Chart {
        let series = series.into_iter().map(|(label, published, values)| BarSeries {
            label,
            published,
            values: values.into_iter().map(|(value, ci95)| Estimate { value, ci95, seeds: 6 }).collect(),
        });
        Chart::Bars(Bars { id: "b".to_owned(), title, categories, y, stacked, series: series.collect() })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_chart_can_be_drawn(chart in prop_oneof![curves(), bars()]) {
        for width in WIDTHS {
            words(&svg(&chart, width));
        }
    }
}
