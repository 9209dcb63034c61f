//! How alike two names are, as `strsim` says it, for bytes alone: everybody who builds this crate would compile what
//! that one can do beside it. The tests hold the two together, to the last bit.

/// Jaro-Winkler's likeness, from 0 to 1.
pub(crate) fn likeness(one: &[u8], other: &[u8]) -> f64 {
    let jaro = jaro(one, other);
    if jaro <= 0.7 {
        return jaro;
    }
    let mut begin = 0;
    while begin < one.len().min(other.len()).min(4) && one[begin] == other[begin] {
        begin += 1;
    }
    jaro + 0.1 * count(begin) * (1.0 - jaro)
}

/// Jaro's likeness: how many bytes stand in both at about the same place, and how many of these in another order.
fn jaro(one: &[u8], other: &[u8]) -> f64 {
    if one.is_empty() && other.is_empty() {
        return 1.0;
    }
    let reach = (one.len().max(other.len()) / 2).saturating_sub(1);
    let mut found = Vec::with_capacity(one.len());
    let mut taken = vec![false; other.len()];
    for (place, byte) in one.iter().enumerate() {
        for near in place.saturating_sub(reach)..other.len().min(place + reach + 1) {
            if !taken[near] && other[near] == *byte {
                taken[near] = true;
                found.push(*byte);
                break;
            }
        }
    }
    if found.is_empty() {
        return 0.0;
    }
    let (mut moved, mut next) = (0, 0);
    for (byte, taken) in other.iter().zip(taken) {
        if taken {
            moved += usize::from(found[next] != *byte);
            next += 1;
        }
    }
    let common = count(found.len());
    (common / count(one.len()) + common / count(other.len()) + count(found.len() - moved / 2) / common) / 3.0
}

#[allow(clippy::cast_precision_loss)] // names are not 2^52 bytes long
fn count(bytes: usize) -> f64 {
    bytes as f64
}

/// Whether one slip makes one of the other: a byte too many, too few or another one, or two neighbours exchanged. It is
/// what has the distance 1 by Damerau and Levenshtein.
pub(crate) fn is_one_slip(one: &[u8], other: &[u8]) -> bool {
    let (mut one, mut other) = (one, other);
    while let ([first, rest @ ..], [same, others @ ..]) = (one, other)
        && first == same
    {
        (one, other) = (rest, others);
    }
    while let ([rest @ .., last], [others @ .., same]) = (one, other)
        && last == same
    {
        (one, other) = (rest, others);
    }
    match (one, other) {
        ([] | [_], [_]) | ([_], []) => true,
        ([first, second], [third, fourth]) => first == fourth && second == third,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_as_strsim_says(one: &str, other: &str) {
        let (ours, theirs) = (
            likeness(one.as_bytes(), other.as_bytes()),
            strsim::jaro_winkler(one, other),
        );
        assert_eq!(
            ours.to_bits(),
            theirs.to_bits(),
            "`{one}` and `{other}`: {ours} and {theirs}"
        );
        assert_eq!(
            is_one_slip(one.as_bytes(), other.as_bytes()),
            strsim::damerau_levenshtein(one, other) == 1,
            "`{one}` and `{other}`"
        );
    }

    #[test]
    fn names_of_keys_are_as_alike_as_strsim_says() {
        let keys: Vec<_> = crate::reference::Id::ALL.iter().map(|id| id.key().name).collect();
        for one in &keys {
            for other in &keys {
                is_as_strsim_says(one, other);
            }
            is_as_strsim_says(one, "");
            for at in 0..one.len() {
                let (mut short, mut twice) = (one.to_string(), one.to_string());
                short.remove(at);
                twice.insert(at, 'x');
                is_as_strsim_says(one, &short);
                is_as_strsim_says(one, &twice);
                is_as_strsim_says(&short, &twice);
            }
        }
    }

    proptest! {
        #[test]
        fn few_letters_in_any_order_are_as_alike_as_strsim_says(one in "[abc]{0,9}", other in "[abc]{0,9}") {
            is_as_strsim_says(&one, &other);
        }

        #[test]
        fn long_names_are_as_alike_as_strsim_says(one in "[a-f]{0,40}", other in "[a-f]{0,40}") {
            is_as_strsim_says(&one, &other);
        }
    }
}
