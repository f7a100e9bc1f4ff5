//! Things in numbered places that are used again, so that memory follows what is alive.

/// A table of values with stable places.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab {
            values: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// The place that the next [`Slab::insert`] will use.
    pub(crate) fn vacant(&self) -> u32 {
        let last = self.free.last().copied();
        last.unwrap_or(self.values.len() as u32)
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.values[place as usize] = Some(value);
                place
            }
            None => {
                self.values.push(Some(value));
                (self.values.len() - 1) as u32
            }
        }
    }

    pub(crate) fn remove(&mut self, place: u32) -> Option<T> {
        let value = self.values.get_mut(place as usize)?.take();
        if value.is_some() {
            self.free.push(place);
        }
        value
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.values.get_mut(place as usize)?.as_mut()
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// How many places there are, in use or not.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.values.len()
    }

    /// Places of all values, in order.
    pub(crate) fn places(&self) -> impl Iterator<Item = u32> + '_ {
        self.values
            .iter()
            .enumerate()
            .filter_map(|(place, value)| value.as_ref().map(|_| place as u32))
    }
}
