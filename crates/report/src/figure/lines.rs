//! Lines through many points: thinned to what can be seen, and cut at the edges of the plot.

/// A point in parts of the plot: 0 to 1 from left to right, and from bottom to top.
pub(super) type Place = (f64, f64);

/// Width of a slice of [`thinned`].
const SLICE: f64 = 1.0 / 800.0;

/// Leaves out points that cannot be seen: of those in one narrow slice, the first, the lowest, the highest and the last remain.
pub(super) fn thinned(places: &[Place]) -> Vec<Place> {
    let slice = |place: &Place| (place.0 / SLICE).floor();
    let mut kept = Vec::new();
    for group in places.chunk_by(|a, b| slice(a) == slice(b)) {
        let by_height = |a: &&Place, b: &&Place| a.1.total_cmp(&b.1);
        let lowest = group.iter().min_by(by_height);
        let highest = group.iter().max_by(by_height);
        let wanted = [group.first(), lowest, highest, group.last()];
        let wanted = |place: &&Place| wanted.contains(&Some(place));
        let mut seen: Vec<Place> = Vec::new();
        for place in group.iter().filter(wanted) {
            if !seen.contains(place) {
                seen.push(*place);
            }
        }
        kept.extend(seen);
    }
    kept
}

/// Parts of a line that are within the plot.
pub(super) fn clipped(places: &[Place]) -> Vec<Vec<Place>> {
    let mut parts: Vec<Vec<Place>> = Vec::new();
    for ends in places.windows(2) {
        let Some((from, to)) = inside(ends[0], ends[1]) else {
            continue;
        };
        match parts.last_mut().filter(|part| part.last() == Some(&from)) {
            Some(part) => part.push(to),
            None => parts.push(vec![from, to]),
        }
    }
    parts
}

/// Part of a segment within the plot, by the algorithm of Liang and Barsky.
fn inside(from: Place, to: Place) -> Option<(Place, Place)> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let [mut enters, mut leaves] = [0.0_f64, 1.0_f64];
    for (change, room) in [(-dx, from.0), (dx, 1.0 - from.0), (-dy, from.1), (dy, 1.0 - from.1)] {
        if change == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if change < 0.0 {
            enters = enters.max(room / change);
        } else {
            leaves = leaves.min(room / change);
        }
    }
    let at = |t: f64| match t {
        0.0 => from,
        1.0 => to,
        t => (from.0 + t * dx, from.1 + t * dy),
    };
    (enters <= leaves).then(|| (at(enters), at(leaves)))
}

/// Corners of the steps of a distribution function through `places`: level until the next point, then up.
pub(super) fn steps(places: &[Place]) -> Vec<Place> {
    let mut corners = Vec::with_capacity(2 * places.len());
    for (i, place) in places.iter().enumerate() {
        if i > 0 {
            corners.push((place.0, places[i - 1].1));
        }
        corners.push(*place);
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes() {
        let mut places: Vec<Place> = (0..100_000).map(|i| (f64::from(i) * 1e-5, 0.5)).collect();
        places[5_000].1 = 0.9;
        places[70_123].1 = 0.1;
        let kept = thinned(&places);
        assert!(kept.len() < 3_300);
        assert!(kept.contains(&places[5_000]) && kept.contains(&places[70_123]));
        assert_eq!((kept.first(), kept.last()), (places.first(), places.last()));
    }

    #[test]
    fn few_points_all_remain() {
        let places = [(0.1, 0.2), (0.1, 0.4), (0.5, 0.3), (0.9, 0.3)];
        assert_eq!(thinned(&places), places);
    }

    #[test]
    fn lines_end_at_the_edge() {
        let places = [(0.0, 0.5), (0.5, 1.5), (1.0, 0.5)];
        let parts = clipped(&places);
        assert_eq!(parts, [[(0.0, 0.5), (0.25, 1.0)], [(0.75, 1.0), (1.0, 0.5)]]);
        assert_eq!(clipped(&[(0.2, 2.0), (0.8, 3.0)]), Vec::<Vec<Place>>::new());
    }
}
