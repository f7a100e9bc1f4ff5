//! Confidence intervals of proportions.

/// 95 % confidence interval of a proportion (Wilson 1927).
pub(crate) fn wilson(part: u64, whole: u64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let (n, share) = (whole as f64, part as f64 / whole as f64);
    let centre = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    ((centre - half) / scale, (centre + half) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example 1 of Newcombe, "Two-sided confidence intervals for the single proportion", 1998: 81 of 263.
    #[test]
    fn an_interval_from_the_literature() {
        let (low, high) = wilson(81, 263);
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5, "{low} {high}");
    }
}
