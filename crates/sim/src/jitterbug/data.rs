//! The data of a run. The form of the data shows whether bytes are missing or in the wrong order.

use super::schedule::DataPlan;

/// A program's data begin with the byte `FIRST`, continue with a number, and end with the byte `LAST`.
const FIRST: u8 = b'v';
const LAST: u8 = b'$';
/// The number of digits. The number is constant, so data with the same padding have the same length.
const DIGITS: usize = 12;

/// Returns the data of a program.
pub(super) fn of(number: u64, padding: usize) -> Vec<u8> {
    let mut data = vec![FIRST];
    data.extend(format!("{number:0DIGITS$}").bytes());
    data.extend((b'a'..=b'z').cycle().take(padding));
    data.push(LAST);
    data
}

/// Returns the number in a program's data, or 0 if the data are empty.
pub(super) fn number_of(data: &[u8]) -> Option<u64> {
    if data.is_empty() {
        return Some(0);
    }
    let digits = data.strip_prefix(&[FIRST])?.get(..DIGITS)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Whether the bytes are complete data that a node made.
pub(super) fn is_whole(data: &[u8], plan: &DataPlan) -> bool {
    if !plan.computes {
        return data.iter().all(u8::is_ascii_digit);
    }
    match number_of(data) {
        Some(0) => data.is_empty(),
        Some(number) => data == of(number, plan.padding),
        None => false,
    }
}

/// Formats the beginning and the length of data.
pub(super) fn describe(data: &[u8]) -> String {
    let first = &data[..data.len().min(1 + DIGITS)];
    let first = String::from_utf8_lossy(first);
    format!("'{first}' ({} bytes)", data.len())
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Decider;
    use super::*;

    const PLAN: DataPlan = DataPlan {
        computes: true,
        decides: Decider::Greater,
        padding: 40,
    };

    #[test]
    fn no_part_of_data_is_data() {
        let plan = PLAN;
        let data = of(7, plan.padding);
        assert!(is_whole(&data, &plan) && is_whole(b"", &plan));
        assert_eq!(number_of(&data), Some(7));
        for len in 1..data.len() {
            assert!(!is_whole(&data[..len], &plan), "{len}");
        }
    }

    #[test]
    fn data_with_two_bytes_exchanged_is_no_data() {
        for first in 1 + DIGITS..of(7, PLAN.padding).len() - 1 {
            let mut data = of(7, PLAN.padding);
            data.swap(first, first + 1);
            assert!(!is_whole(&data, &PLAN), "{first}");
        }
    }
}
