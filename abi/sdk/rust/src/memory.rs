//! The allocator of a block: that of the standard library, but a lack of memory shows as one.

use std::alloc::{GlobalAlloc, Layout, System};

struct Exhausting;

#[global_allocator]
static ALLOCATOR: Exhausting = Exhausting;

// SAFETY: all memory comes from `System`; what is added only ends the guest.
unsafe impl GlobalAlloc for Exhausting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        checked(System.alloc(layout))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        checked(System.alloc_zeroed(layout))
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        checked(System.realloc(memory, layout, size))
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        System.dealloc(memory, layout);
    }
}

/// A host knows a lack of memory by there being none left, so all of it is taken before the trap.
fn checked(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        #[cfg(target_arch = "wasm32")]
        {
            while core::arch::wasm32::memory_grow(0, 1) != usize::MAX {}
            core::arch::wasm32::unreachable();
        }
    }
    memory
}
