//! All that a block written in Rust needs: commands, events, and the exports of the contract.
//!
//! A block is a type with the trait [`Block`], handed to the macro [`export!`]. What it has to
//! remember between two calls stands in its fields: each job has an instance of its own.
//!
//! README.md, beside this crate, has a whole block and the command that builds it.

mod command;
mod event;
mod exports;
mod infer;
mod memory;
mod panics;

pub use command::{Command, ImageOp};
pub use event::{
    Event, Failure, FileKind, Finish, InferDone, ListEntry, Listed, Opened, Sliced, SlicedBytes,
    TokensCounted,
};
#[doc(hidden)]
pub use exports::{Descriptor, Exports};
pub use infer::{Infer, Message, Role};
pub use serde;
pub use serde_json;
pub use serde_json::{json, value::RawValue, Value};

use serde::de::DeserializeOwned;

/// The version of the ABI that this crate speaks.
pub const ABI_VERSION: u32 = 1;

/// A block. `Default` makes it as a job begins.
pub trait Block: Default {
    /// Input of a job. What does not fit it fails the job with the code `invalid_input`.
    type Input: DeserializeOwned;

    /// Take the input of the job; return the first command.
    fn start(&mut self, input: Self::Input) -> Command;

    /// Take the answer to the last command; return the next one.
    fn step(&mut self, event: Event) -> Command;

    /// Take a piece of the text that is being generated. Called if `export!` says `on_token`.
    fn on_token(&mut self, piece: &str) -> Verdict {
        let _ = piece;
        Verdict::Continue
    }
}

/// Whether a generation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Continue = 0,
    Stop = 1,
}

/// Exports a [`Block`]: `export!(Type)`.
///
/// `export!(Type, input = "{path: text}", output = "{lines: number}")` declares the types of input
/// and result too, so that the host checks both. A last `, on_token` exports the listener.
#[macro_export]
macro_rules! export {
    ($block:ty) => {
        $crate::export!(@block $block);
    };
    ($block:ty, on_token) => {
        $crate::export!(@block $block);
        $crate::export!(@on_token);
    };
    ($block:ty, input = $input:literal, output = $output:literal) => {
        $crate::export!(@block $block);
        $crate::export!(@signature $input, $output);
    };
    ($block:ty, input = $input:literal, output = $output:literal, on_token) => {
        $crate::export!(@block $block);
        $crate::export!(@signature $input, $output);
        $crate::export!(@on_token);
    };
    (@block $block:ty) => {
        static CF_EXPORTS: $crate::Exports<$block> = $crate::Exports::new();

        #[no_mangle]
        pub extern "C" fn cf_alloc(len: usize) -> *mut u8 {
            CF_EXPORTS.alloc(len)
        }

        #[no_mangle]
        pub extern "C" fn cf_init(ptr: *const u8, len: usize) -> *const $crate::Descriptor {
            CF_EXPORTS.init(unsafe { ::core::slice::from_raw_parts(ptr, len) })
        }

        #[no_mangle]
        pub extern "C" fn cf_step(ptr: *const u8, len: usize) -> *const $crate::Descriptor {
            CF_EXPORTS.step(unsafe { ::core::slice::from_raw_parts(ptr, len) })
        }

        #[no_mangle]
        pub extern "C" fn cf_panic() -> *const $crate::Descriptor {
            CF_EXPORTS.panic()
        }

        #[no_mangle]
        pub extern "C" fn cf_abi_version() -> u32 {
            $crate::ABI_VERSION
        }
    };
    (@signature $input:literal, $output:literal) => {
        #[no_mangle]
        pub extern "C" fn cf_signature() -> *const $crate::Descriptor {
            static SIGNATURE: $crate::Descriptor = $crate::Descriptor::of(concat!(
                "{\"input\":\"", $input, "\",\"output\":\"", $output, "\"}"
            ));
            &SIGNATURE
        }
    };
    (@on_token) => {
        #[no_mangle]
        pub extern "C" fn cf_on_token(ptr: *const u8, len: usize) -> u32 {
            CF_EXPORTS.on_token(unsafe { ::core::slice::from_raw_parts(ptr, len) })
        }
    };
}
