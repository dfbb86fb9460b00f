//! The bytes of answers that clients have not read yet.

use axum::{
    body::{Body, Bytes, to_bytes},
    response::Response,
};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of an answer that is not counted: even one for each connection is little.
const SHORT: usize = 64 << 10;

/// Bounds the memory of answers that are being sent. A client that reads slowly keeps its answer in memory,
/// so a limit for each answer bounds nothing.
#[derive(Debug)]
pub(crate) struct Unsent(Arc<Semaphore>);

impl Unsent {
    pub(crate) fn new(bytes: usize) -> Self {
        let bytes = bytes.min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// Counts an answer until all of it is sent, or its connection ends. `None` if it does not fit beside
    /// the others.
    pub(crate) async fn hold(&self, response: Response) -> Option<Response> {
        let (head, body) = response.into_parts();
        // A body is one piece, which is not copied.
        let bytes = to_bytes(body, usize::MAX).await.ok()?;
        if bytes.len() <= SHORT {
            return Some(Response::from_parts(head, Body::from(bytes)));
        }
        let count = u32::try_from(bytes.len()).ok()?;
        let permit = self.0.clone().try_acquire_many_owned(count).ok()?;
        let held = Bytes::from_owner(Held {
            bytes,
            _permit: permit,
        });
        Some(Response::from_parts(head, Body::from(held)))
    }
}

/// Bytes that a connection drops after the last of them is sent.
struct Held {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
