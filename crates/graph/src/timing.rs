//! Decides which transfers a time-respecting search may follow.

use txgraph_transfers::{Direction, Position};

/// The position of the transfer by which a search reached a vertex; `None` at a root,
/// from which every transfer can be followed.
pub(crate) type Arrival = Option<Position>;

/// How time restricts a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Time is ignored.
    Ignored,
    /// Tokens leave a vertex after they arrived: an earlier arrival can follow more.
    Forward,
    /// Tokens arrived at a vertex before they left: a later departure can follow more.
    Backward,
}

impl Timing {
    pub(crate) fn new(time_respecting: bool, direction: Direction) -> Self {
        match direction {
            _ if !time_respecting => Self::Ignored,
            Direction::In => Self::Backward,
            // A time-respecting search in both directions is refused.
            Direction::Out | Direction::Both => Self::Forward,
        }
    }

    /// Whether a transfer at `position` can be followed from a vertex with this arrival.
    pub(crate) fn follows(self, arrival: Arrival, position: Position) -> bool {
        match (self, arrival) {
            (Self::Ignored, _) | (_, None) => true,
            (Self::Forward, Some(arrival)) => position > arrival,
            (Self::Backward, Some(arrival)) => position < arrival,
        }
    }

    /// Whether more can be followed after an arrival at `position` than after `arrival`.
    pub(crate) fn improves(self, position: Position, arrival: Arrival) -> bool {
        match (self, arrival) {
            (Self::Ignored, _) | (_, None) => false,
            (Self::Forward, Some(arrival)) => position < arrival,
            (Self::Backward, Some(arrival)) => position > arrival,
        }
    }
}
