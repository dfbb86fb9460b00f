//! When a transfer may be followed.

use txgraph_transfers::{Direction, Position};

/// When a search got to a vertex; `None` at a root, which has all the time there is.
pub(crate) type Moment = Option<Position>;

/// How time restricts a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Not at all.
    Ignored,
    /// Money leaves after it came: sooner arrivals can follow more.
    Forward,
    /// Money came before it left: later departures can follow more.
    Backward,
}

impl Timing {
    pub(crate) fn new(time_respecting: bool, direction: Direction) -> Self {
        match direction {
            _ if !time_respecting => Self::Ignored,
            Direction::In => Self::Backward,
            // `Both` with time is refused.
            Direction::Out | Direction::Both => Self::Forward,
        }
    }

    /// Whether a transfer at `position` can be followed from a vertex reached at `moment`.
    pub(crate) fn follows(self, moment: Moment, position: Position) -> bool {
        match (self, moment) {
            (Self::Ignored, _) | (_, None) => true,
            (Self::Forward, Some(moment)) => position > moment,
            (Self::Backward, Some(moment)) => position < moment,
        }
    }

    /// Whether more can be followed from a vertex reached at `position` than at `moment`.
    pub(crate) fn improves(self, position: Position, moment: Moment) -> bool {
        match (self, moment) {
            (Self::Ignored, _) | (_, None) => false,
            (Self::Forward, Some(moment)) => position < moment,
            (Self::Backward, Some(moment)) => position > moment,
        }
    }
}
