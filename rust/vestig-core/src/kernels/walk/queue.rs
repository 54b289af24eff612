//! A binary heap with the order as an argument, so that ids are read only where signals tie.

/// The first element is the least by that order.
pub(super) struct Queue<T> {
    items: Vec<T>,
    /// Places of `items` as a heap.
    heap: Vec<u32>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            heap: Vec::new(),
        }
    }
}

impl<T: Copy> Queue<T> {
    /// `before` must be the same strict order at every call.
    pub(super) fn push(&mut self, item: T, before: impl Fn(&T, &T) -> bool) {
        let (items, heap) = (&mut self.items, &mut self.heap);
        let mut at = heap.len();
        heap.push(items.len() as u32);
        items.push(item);
        while at > 0 {
            let parent = (at - 1) / 2;
            if !before(&items[heap[at] as usize], &items[heap[parent] as usize]) {
                return;
            }
            heap.swap(at, parent);
            at = parent;
        }
    }

    pub(super) fn first(&self) -> Option<&T> {
        self.heap.first().map(|at| &self.items[*at as usize])
    }

    pub(super) fn pop(&mut self, before: impl Fn(&T, &T) -> bool) -> Option<T> {
        let (items, heap) = (&self.items, &mut self.heap);
        let found = heap.first().map(|at| items[*at as usize])?;
        let last = heap.pop()?;
        if let Some(first) = heap.first_mut() {
            *first = last;
        }
        let mut at = 0;
        loop {
            let mut best = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < heap.len()
                    && before(&items[heap[child] as usize], &items[heap[best] as usize])
                {
                    best = child;
                }
            }
            if best == at {
                return Some(found);
            }
            heap.swap(at, best);
            at = best;
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn items_come_in_order(steps in proptest::collection::vec(proptest::option::of(0_u8..9), 0..200)) {
            let mut queue = Queue::default();
            let mut held: Vec<u8> = Vec::new();
            for step in steps {
                if let Some(item) = step {
                    queue.push(item, |a, b| a < b);
                    held.push(item);
                    held.sort_unstable();
                } else {
                    let first = (!held.is_empty()).then(|| held.remove(0));
                    prop_assert_eq!(queue.pop(|a, b| a < b), first);
                }
                prop_assert_eq!(queue.len(), held.len());
            }
        }
    }
}
