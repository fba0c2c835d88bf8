//! Assembles bytes that arrive in pieces, for all protocols that announce a length.

use crate::contract::Input;

/// Bytes that wait for their rest. Holds no memory unless any do.
///
/// Bytes that were handed out are borrowed from here, so they are freed by the next [`Pieces::release`].
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    bytes: Vec<u8>,
    handed_out: bool,
}

impl Pieces {
    /// Frees the bytes that were handed out last. Called first, on every input.
    #[inline]
    pub(crate) fn release(&mut self) {
        if self.handed_out {
            self.clear();
        }
    }

    /// Returns exactly `len` bytes: straight from `input` if all of them are there and nothing waits, else assembled
    /// here. Takes all of `input` and returns `None` if there are fewer.
    #[inline]
    pub(crate) fn take<'a, 'b: 'a>(
        &'a mut self,
        len: usize,
        input: &mut Input<'b>,
    ) -> Option<&'a [u8]> {
        if self.bytes.is_empty() && input.len() >= len {
            return Some(input.take(len));
        }
        if self.fill(len, input) { Some(self.hand_out()) } else { None }
    }

    /// Takes from `input` until `len` bytes wait here; true if they do.
    pub(crate) fn fill(&mut self, len: usize, input: &mut Input<'_>) -> bool {
        let missing = len.saturating_sub(self.bytes.len());
        let arrived = missing.min(input.len());
        if arrived > 0 {
            self.bytes.reserve_exact(missing);
            self.bytes.extend_from_slice(input.take(arrived));
        }
        arrived == missing
    }

    /// Adds `more` to the bytes that wait.
    pub(crate) fn extend(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
    }

    /// Hands out all bytes that wait here.
    pub(crate) fn hand_out(&mut self) -> &[u8] {
        self.handed_out = true;
        &self.bytes
    }

    /// True if bytes wait here that were not handed out.
    #[inline]
    pub(crate) fn are_waiting(&self) -> bool {
        !self.handed_out && !self.bytes.is_empty()
    }

    /// Frees all memory.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The bytes that wait here.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
