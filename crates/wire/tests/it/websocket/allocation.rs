//! Measures the memory that a piece of code takes: the allocator of the tests, counted for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The result of `work`, the most bytes that it held at once beyond those held before, and those that its result holds.
pub(crate) fn memory_of<T>(work: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = HELD.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    let result = work();
    let above = |held: i64| usize::try_from(held - before).unwrap_or(0);
    (result, above(PEAK.with(Cell::get)), above(HELD.with(Cell::get)))
}

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, counted for each thread.
struct Counted;

#[global_allocator]
static COUNTED: Counted = Counted;

impl Counted {
    fn count(bytes: i64) {
        // A thread that ends may allocate after its counters are gone.
        let _gone = HELD.try_with(|held| {
            held.set(held.get() + bytes);
            let _gone = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
        });
    }
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

#[expect(unsafe_code, reason = "the only way to see allocations")]
// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(signed(layout.size()));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::count(-signed(layout.size()));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may exist while the bytes are copied.
        Self::count(signed(size));
        Self::count(-signed(layout.size()));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
