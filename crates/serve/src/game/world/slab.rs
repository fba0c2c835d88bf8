//! A slab: things in numbered places, which are re-used, under keys, which are not.

/// A place, and the generation of the thing in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) index: u32,
    generation: u32,
}

/// Things in numbered places. The key of a removed thing finds nothing, even if its place is used again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    thing: Option<T>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Puts a thing into the most recently freed place, or a new one.
    pub(super) fn insert(&mut self, thing: T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, thing: None });
            u32::try_from(self.places.len() - 1)
                .expect("four thousand million things do not fit into memory")
        });
        let place = &mut self.places[index as usize];
        place.thing = Some(thing);
        Key { index, generation: place.generation }
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation != key.generation {
            return None;
        }
        let thing = place.thing.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.index);
        Some(thing)
    }

    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let place = self.places.get(key.index as usize)?;
        if place.generation == key.generation { place.thing.as_ref() } else { None }
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation == key.generation { place.thing.as_mut() } else { None }
    }

    pub(super) const fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Slab;

    #[test]
    fn an_old_key_finds_nothing_in_a_place_that_is_used_again() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(second.index, first.index);
        assert_eq!((slab.get(first), slab.get(second)), (None, Some(&'b')));
        assert_eq!((slab.remove(first), slab.len()), (None, 1));
    }
}
