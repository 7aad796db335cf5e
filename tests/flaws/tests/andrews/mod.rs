//! The simulator detects every flaw of the coordinated ring's state machine.

use std::time::Duration;

found_by_seeds! {
    andrews, simulate_andrews, Duration::from_secs(3);
    acting_for_ever "all" 1, Led;
    any_crowd "all" 1, Memory;
    claims_from_one_that_beats "all" 0, Beat;
    claims_without_proof "all" 815, Proof;
    gone_for_ever "all" 10, Ring;
    joins_once "all" 1, Ring;
    kept_while_passing "all" 0, Token;
    late_is_not_written "all" 4, Acknowledged;
    no_new_token "all" 7, Token;
    older_token_taken "all" 0, Sequence;
    outrun_goes_round "empty" 30, Token;
    reads_make_it_up "readonly,post" 0, Written;
    refused_is_forgotten "all" 29, Answered;
    result_goes_round "all" 2, Calm;
    token_made_at_once "all" 1, Token;
    unknown_is_done "all" 90, Acknowledged;
    unknown_is_repeated "unknown,post" 1, Acknowledged;
}
