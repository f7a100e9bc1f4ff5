//! Table of values whose places are reused, so that memory follows the number alive.

/// Table of values with stable places. The place of a removed value is the next to be used.
#[derive(Debug)]
pub struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// The place that the next [`Slab::insert`] will use.
    pub fn vacant(&self) -> u32 {
        let last = self.free.last().copied();
        last.unwrap_or(self.values.len() as u32)
    }

    /// Stores a value and returns its place.
    pub fn insert(&mut self, value: T) -> u32 {
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

    /// Removes the value at `place`; `None` if there is none.
    pub fn remove(&mut self, place: u32) -> Option<T> {
        let value = self.values.get_mut(place as usize)?.take();
        if value.is_some() {
            self.free.push(place);
        }
        value
    }

    /// The value at `place`, if there is one.
    #[inline]
    pub fn get(&self, place: u32) -> Option<&T> {
        self.values.get(place as usize)?.as_ref()
    }

    /// The value at `place`, if there is one, to be changed.
    #[inline]
    pub fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.values.get_mut(place as usize)?.as_mut()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of places, in use or not.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.values.len()
    }

    /// Places of all values, in order.
    pub fn places(&self) -> impl Iterator<Item = u32> + '_ {
        self.values.iter().enumerate().filter_map(|(place, value)| value.as_ref().map(|_| place as u32))
    }
}
