//! Bounded lists that keep the worst.

/// Maximum number of findings with a place that one read returns for a kind, worst first. Events of further places are
/// one finding without place; limits that are reached at further places are left out.
pub const MAX_PLACES: usize = 16;

/// List of at most `limit` elements with the largest weights.
#[derive(Debug)]
pub(crate) struct Worst<T, F> {
    list: Vec<T>,
    limit: usize,
    weight: F,
    incomplete: bool,
}

impl<T, W: Ord, F: Fn(&T) -> W> Worst<T, F> {
    pub(crate) fn new(limit: usize, weight: F) -> Worst<T, F> {
        Worst { list: Vec::new(), limit, weight, incomplete: false }
    }

    pub(crate) fn push(&mut self, element: T) {
        self.list.push(element);
        if self.list.len() >= 2 * self.limit {
            self.shorten();
        }
    }

    /// The list, worst first, and whether elements were left out.
    pub(crate) fn finish(mut self) -> (Vec<T>, bool) {
        self.shorten();
        (self.list, self.incomplete)
    }

    fn shorten(&mut self) {
        let weight = &self.weight;
        self.list.sort_by_key(|element| std::cmp::Reverse(weight(element)));
        self.incomplete |= self.list.len() > self.limit;
        self.list.truncate(self.limit);
    }
}

#[cfg(test)]
mod tests {
    use super::Worst;

    #[test]
    fn the_largest_are_kept() {
        let mut worst = Worst::new(3, |number: &u32| *number);
        (0..100).for_each(|number| worst.push(number * 37 % 100));
        assert_eq!(worst.finish(), (vec![99, 98, 97], true));
    }

    #[test]
    fn a_short_list_is_complete() {
        let mut worst = Worst::new(3, |number: &u32| *number);
        [1, 3, 2].into_iter().for_each(|number| worst.push(number));
        assert_eq!(worst.finish(), (vec![3, 2, 1], false));
    }
}
