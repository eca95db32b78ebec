//! The words of a panic, kept for the host: a panic ends in a trap, which has none.

use std::cell::RefCell;

thread_local! {
    static LAST: RefCell<Option<String>> = RefCell::new(None);
}

/// From now on keep the message and the place of a panic.
pub fn remember() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let place = panic.location().map_or_else(String::new, |at| format!(", at {at}"));
        LAST.with(|last| *last.borrow_mut() = Some(format!("{message}{place}")));
    }));
}

/// What the last panic said.
pub fn last() -> Option<String> {
    LAST.with(|last| last.borrow().clone())
}
