//! What developers measure: throughput, and how far two engines are apart.

pub mod bench;
pub mod compare;
