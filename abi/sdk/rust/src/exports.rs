//! What stands between the functions of the module and a block. Used by `export!` alone.

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;

use crate::event::Event;
use crate::{panics, Block, Command, Verdict};

/// Address and length of a payload, as the contract lays them out.
#[repr(C)]
pub struct Descriptor {
    ptr: *const u8,
    len: usize,
}

// SAFETY: a wasm module without threads has one.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    pub const fn of(text: &'static str) -> Self {
        Descriptor { ptr: text.as_ptr(), len: text.len() }
    }
}

/// A block, its buffers, and the calls into it. The host calls one function at a time.
pub struct Exports<B> {
    block: UnsafeCell<Option<B>>,
    /// What the host writes payloads to.
    inbox: UnsafeCell<ManuallyDrop<Vec<u8>>>,
    /// What the host reads now, and its descriptor; freed when the next command is made.
    outbox: UnsafeCell<(Vec<u8>, Descriptor)>,
}

// SAFETY: a wasm module without threads has one.
unsafe impl<B> Sync for Exports<B> {}

impl<B: Block> Exports<B> {
    #[allow(clippy::new_without_default)] // only as a static
    pub const fn new() -> Self {
        Exports {
            block: UnsafeCell::new(None),
            inbox: UnsafeCell::new(ManuallyDrop::new(Vec::new())),
            outbox: UnsafeCell::new((Vec::new(), Descriptor::of(""))),
        }
    }

    /// One buffer serves all calls. A larger one, of twice the size at least, replaces it, and the
    /// old one is given to nobody else: a host may go on using it for short payloads.
    pub fn alloc(&self, len: usize) -> *mut u8 {
        // SAFETY: nothing else refers to the inbox.
        let inbox = unsafe { &mut *self.inbox.get() };
        if inbox.capacity() == 0 || len > inbox.capacity() {
            let capacity = len.max(1024).max(inbox.capacity() * 2);
            *inbox = ManuallyDrop::new(Vec::with_capacity(capacity));
        }
        inbox.as_mut_ptr()
    }

    pub fn init(&self, payload: &[u8]) -> *const Descriptor {
        panics::remember();
        let block = self.block().insert(B::default());
        self.answer(match serde_json::from_slice(payload) {
            Ok(input) => block.start(input),
            Err(error) => Command::fail("invalid_input", format!("the input of the job: {error}")),
        })
    }

    pub fn step(&self, payload: &[u8]) -> *const Descriptor {
        self.answer(match self.block() {
            Some(block) => block.step(Event::read(payload)),
            None => Command::fail("not_started", "cf_step was called before cf_init"),
        })
    }

    pub fn on_token(&self, piece: &[u8]) -> u32 {
        let verdict = match self.block() {
            Some(block) => block.on_token(&String::from_utf8_lossy(piece)),
            None => Verdict::Continue,
        };
        verdict as u32
    }

    /// The command `fail` for the panic that ended the last call, or null if there was none.
    pub fn panic(&self) -> *const Descriptor {
        match panics::last() {
            Some(message) => self.answer(Command::fail("panic", message)),
            None => std::ptr::null(),
        }
    }

    fn answer(&self, command: Command) -> *const Descriptor {
        // SAFETY: the host has copied the last answer before it calls again.
        let (json, descriptor) = unsafe { &mut *self.outbox.get() };
        *json = command.into_json();
        *descriptor = Descriptor { ptr: json.as_ptr(), len: json.len() };
        descriptor
    }

    #[allow(clippy::mut_from_ref)]
    fn block(&self) -> &mut Option<B> {
        // SAFETY: a module without imports is never entered while it runs.
        unsafe { &mut *self.block.get() }
    }
}
