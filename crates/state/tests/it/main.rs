//! State against what nodes answered.
