//! The colours and marks of schemes, as people with any colour vision see them.

use gentle_report::palette::{Color, PALETTE};
use std::collections::BTreeSet;

/// Least distance of two colours in Oklab. Neighbouring bars of 0.02 can just be told apart.
const LEAST_DISTANCE: f64 = 0.12;

/// Least contrast to the ground: WCAG 2.2, 1.4.11.
const LEAST_CONTRAST: f64 = 3.0;

/// Surface and page of each theme, as in `assets/page.css`.
const GROUNDS: [[&str; 2]; 2] = [["#ffffff", "#f7f7f5"], ["#1a1d21", "#121417"]];

/// Linear RGB of dichromats: Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
/// Deficiency", IEEE TVCG 2009, severity 1.0.
const VISIONS: [(&str, [[f64; 3]; 3]); 4] = [
    ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ("protanopia", [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    (
        "deuteranopia",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
    ("tritanopia", [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
];

type Rgb = [f64; 3];

/// Linear RGB of `#rrggbb` (IEC 61966-2-1).
fn linear(hex: &str) -> Rgb {
    assert_eq!(hex.len(), 7, "{hex}");
    [1, 3, 5].map(|at| {
        let part = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { libm::pow((part + 0.055) / 1.055, 2.4) }
    })
}

fn seen(matrix: &[[f64; 3]; 3], color: Rgb) -> Rgb {
    matrix.map(|row| row.iter().zip(color).map(|(part, light)| part * light).sum::<f64>().clamp(0.0, 1.0))
}

/// Oklab (Björn Ottosson, "A perceptual color space for image processing", 2020).
fn oklab([r, g, b]: Rgb) -> [f64; 3] {
    let l = libm::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    let m = libm::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    let s = libm::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    [
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    ]
}

fn contrast(a: Rgb, b: Rgb) -> f64 {
    let luminance = |[r, g, b]: Rgb| 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    let (a, b) = (luminance(a), luminance(b));
    a.max(b) / a.min(b)
}

fn themes(color: &Color) -> [Rgb; 2] {
    [linear(&color.light), linear(&color.dark)]
}

#[test]
fn each_scheme_has_a_colour_and_a_mark_of_no_other() {
    let names = PALETTE.schemes.iter().map(|look| look.name.as_str());
    let schemes = gentle_aqm::registry::SCHEMES.iter().map(|scheme| scheme.name);
    assert_eq!(names.collect::<Vec<_>>(), schemes.collect::<Vec<_>>());
    let looks: BTreeSet<_> =
        PALETTE.schemes.iter().map(|look| (PALETTE.color(&look.color).unwrap(), look.mark)).collect();
    assert_eq!(looks.len(), PALETTE.schemes.len());
}

#[test]
fn schemes_that_are_compared_most_differ_in_colour_and_mark() {
    // The schemes of home-evening, which has one of each family.
    let compared = ["pfifo", "fq_codel", "cake", "dualpi2", "spa", "codel", "fq_pie", "gentle"];
    let looks = || PALETTE.schemes.iter().filter(|look| compared.contains(&look.name.as_str()));
    assert_eq!(looks().map(|look| &look.color).collect::<BTreeSet<_>>().len(), compared.len());
    assert_eq!(looks().map(|look| look.mark).collect::<BTreeSet<_>>().len(), compared.len());
}

#[test]
fn colours_can_be_told_apart_with_any_colour_vision() {
    for (name, matrix) in VISIONS {
        for theme in [0, 1] {
            let seen = |color: &Color| oklab(seen(&matrix, themes(color)[theme]));
            for (i, a) in PALETTE.colors.iter().enumerate() {
                for b in &PALETTE.colors[..i] {
                    let distance = seen(a).iter().zip(seen(b)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                    assert!(
                        distance >= LEAST_DISTANCE,
                        "{name}, theme {theme}: {} and {}: {distance:.3}",
                        a.name,
                        b.name
                    );
                }
            }
        }
    }
}

#[test]
fn colours_stand_out_from_their_grounds_and_keep_their_hue() {
    for color in &PALETTE.colors {
        for (theme, grounds) in themes(color).into_iter().zip(GROUNDS) {
            for ground in grounds {
                assert!(contrast(theme, linear(ground)) >= LEAST_CONTRAST, "{} on {ground}", color.name);
            }
        }
        let [light, dark] = themes(color).map(oklab);
        let chroma = |[_, a, b]: [f64; 3]| libm::hypot(a, b);
        if chroma(light).min(chroma(dark)) > 0.04 {
            let hue = |[_, a, b]: [f64; 3]| libm::atan2(b, a).to_degrees();
            let turn = (hue(light) - hue(dark)).rem_euclid(360.0);
            assert!(turn.min(360.0 - turn) < 25.0, "{}: {turn}°", color.name);
        }
    }
}
