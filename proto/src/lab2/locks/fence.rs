//! The fencing tokens of locks (`docs/reference/lab2/locks.md`, I5, I20 and I54). Of two tokens with equal progress and
//! author, the token with the *smaller* number is stronger, so numbers count down.

use std::cmp::Ordering;

use ring_codec::lab2::{PROGRESS_MAX, Token};

/// The maximum lead of a lock's fencing token over the owner's token, in progress. A fencing token with a larger lead
/// comes from the other side of a split, and the owner cannot exceed it. The changes under one token cause a larger
/// lead only after 2³² changes.
const LEAD_MAX: u64 = 1;

/// Returns the fencing token of a change under the owner's token. The fencing token grows with each change.
pub(super) const fn of_change(token: Token, change: u64) -> Token {
    later(
        Token {
            number: u32::MAX,
            ..token
        },
        change,
    )
}

/// Returns the fencing token after `count` more uses of a lock. If a frame cannot carry a later token, returns the
/// strongest token. A ring reaches this token only through forged frames.
pub(super) const fn later(fence: Token, count: u64) -> Token {
    let [_, _, _, _, a, b, c, d] = count.to_be_bytes();
    let (number, is_wrapped) = fence
        .number
        .overflowing_sub(u32::from_be_bytes([a, b, c, d]));
    let progress = fence.progress.saturating_add(count >> 32);
    let progress = progress.saturating_add(is_wrapped as u64);
    if progress > PROGRESS_MAX {
        return Token {
            progress: PROGRESS_MAX,
            number: 0,
            ..fence
        };
    }
    Token {
        progress,
        number,
        ..fence
    }
}

/// Returns the number of the last change under `token` whose fencing token is not stronger than `fence`. Returns 0 for
/// a fencing token from the other side of a split.
pub(super) fn last_change_up_to(token: Token, fence: Token) -> u64 {
    let progress = fence.progress.checked_sub(token.progress);
    let Some(progress) = progress.filter(|&it| it <= LEAD_MAX) else {
        return 0;
    };
    let first = progress << 32;
    match token.author.cmp(&fence.author) {
        Ordering::Less => first.saturating_sub(1),
        Ordering::Equal => first + u64::from(u32::MAX - fence.number),
        Ordering::Greater => first + u64::from(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use ring_codec::MacAddr;

    use super::*;

    fn token(progress: u64, author: u8, number: u32) -> Token {
        Token {
            progress,
            author: MacAddr([2, 0, 0, 0, 0, author]),
            number,
        }
    }

    #[test]
    fn fencing_tokens_grow_with_each_change_and_each_use() {
        let owner = token(1_000, 3, 7);
        let changes = [0, 1, 2, u32::MAX.into(), 1 << 32, (1 << 32) + 1, 1 << 40];
        for pair in changes.windows(2) {
            let [earlier, late] = [of_change(owner, pair[0]), of_change(owner, pair[1])];
            assert!(late.is_stronger_than(&earlier), "{pair:?}");
        }
        let used = of_change(owner, u64::from(u32::MAX) - 1);
        assert!(later(used, 1).is_stronger_than(&used));
        assert!(later(used, 2).is_stronger_than(&later(used, 1)));
    }

    #[test]
    fn the_next_change_exceeds_a_known_fencing_token_and_skips_no_more_numbers_than_necessary() {
        let owner = token(1_000, 3, 7);
        let last = u32::MAX;
        for (fence, change) in [
            (token(999, 2, 0), 0),
            (token(1_000, 3, last - 5), 5),
            (token(1_000, 4, 0), 0),
            (token(1_001, 4, 0), u64::from(last)),
            (token(1_000, 2, last), last.into()),
            (token(1_001, 3, last), 1 << 32),
        ] {
            assert_eq!(last_change_up_to(owner, fence), change, "{fence}");
            assert!(of_change(owner, change + 1).is_stronger_than(&fence));
            if change > 0 {
                assert!(!of_change(owner, change).is_stronger_than(&fence));
            }
        }
    }

    #[test]
    fn no_fencing_token_has_more_progress_than_a_frame_can_carry() {
        let strongest = token(PROGRESS_MAX, 3, 0);
        for (progress, change) in [(PROGRESS_MAX, 1 << 32), (PROGRESS_MAX - 1, 1 << 33)] {
            assert_eq!(of_change(token(progress, 3, 7), change), strongest);
        }
        assert_eq!(later(strongest, 1), strongest);
    }

    #[test]
    fn a_fencing_token_from_the_other_side_of_a_split_skips_no_numbers() {
        for progress in [1_002, u64::MAX] {
            let fence = token(progress, 2, 0);
            assert_eq!(last_change_up_to(token(1_000, 3, 7), fence), 0);
        }
    }
}
