//! Points of a design: the full product of the axes, or a Latin hypercube sample.

use crate::axis::{Axis, AxisValue, Values};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest, Sha256};

/// Number of points, and the value of each axis at each of them.
#[derive(Debug, Clone)]
pub(crate) enum Design {
    /// Every combination; the last axis varies fastest.
    Product,
    /// A Latin hypercube sample (McKay, Beckman and Conover 1979): with `n` points, each axis has one value in each of
    /// `n` equal parts of its range.
    LatinHypercube {
        points: usize,
        /// Fraction of the range of each axis at each point.
        fractions: Vec<Vec<f64>>,
    },
}

impl Design {
    /// Draws a Latin hypercube sample. The values of an axis depend on its path, `points` and `seed` only, so they stay
    /// the same when other axes are added.
    pub(crate) fn latin_hypercube(axes: &[Axis], points: usize, seed: u64) -> Design {
        let fractions = axes.iter().map(|axis| {
            let hash = Sha256::digest(format!("{seed}/{points}/{}", axis.path));
            let seed: [u8; 32] = hash.into();
            let mut rng = Xoshiro256PlusPlus::from_seed(seed);
            let mut parts: Vec<usize> = (0..points).collect();
            parts.shuffle(&mut rng);
            let within = |part: usize| (part as f64 + rng.random::<f64>()) / points as f64;
            parts.into_iter().map(within).collect()
        });
        Design::LatinHypercube { points, fractions: fractions.collect() }
    }

    /// Number of points; `None` if there are too many to count.
    pub(crate) fn len(&self, axes: &[Axis]) -> Option<usize> {
        match self {
            Design::LatinHypercube { points, .. } => Some(*points),
            Design::Product => axes.iter().try_fold(1_usize, |all, axis| all.checked_mul(choices(axis))),
        }
    }

    /// Index of the value of each axis at a point of a product.
    pub(crate) fn indices(&self, axes: &[Axis], mut point: usize) -> Option<Vec<usize>> {
        if let Design::LatinHypercube { .. } = self {
            return None;
        }
        let mut indices = vec![0; axes.len()];
        for (index, axis) in indices.iter_mut().zip(axes).rev() {
            *index = point % choices(axis);
            point /= choices(axis);
        }
        Some(indices)
    }

    /// Values of all axes at a point.
    pub(crate) fn at(&self, axes: &[Axis], point: usize) -> Vec<AxisValue> {
        match self {
            Design::Product => {
                let indices = self.indices(axes, point).unwrap_or_default();
                let values = axes.iter().zip(indices);
                values
                    .map(|(axis, index)| match &axis.values {
                        Values::List(list) => list[index].clone(),
                        Values::Range(range) => range.at(0.5),
                    })
                    .collect()
            }
            Design::LatinHypercube { fractions, .. } => {
                let values = axes.iter().zip(fractions);
                values
                    .map(|(axis, fractions)| match &axis.values {
                        Values::Range(range) => range.at(fractions[point]),
                        Values::List(list) => {
                            let index = (fractions[point] * list.len() as f64) as usize;
                            list[index.min(list.len() - 1)].clone()
                        }
                    })
                    .collect()
            }
        }
    }
}

fn choices(axis: &Axis) -> usize {
    match &axis.values {
        Values::List(list) => list.len(),
        Values::Range(_) => 1,
    }
}
