//! The grades of the state machine and of the control protocol.

use ring_control::lab2::Grade;
use ring_proto::lab2;

/// Converts a grade of the state machine.
pub(super) const fn of_machine(grade: lab2::Grade) -> Grade {
    match grade {
        lab2::Grade::Alone => Grade::Alone,
        lab2::Grade::AllHeard => Grade::AllHeard,
        lab2::Grade::Quorum => Grade::Quorum,
    }
}

/// Converts a grade for the state machine.
pub(super) const fn for_machine(grade: Grade) -> lab2::Grade {
    match grade {
        Grade::Alone => lab2::Grade::Alone,
        Grade::AllHeard => lab2::Grade::AllHeard,
        Grade::Quorum => lab2::Grade::Quorum,
    }
}
