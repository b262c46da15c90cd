//! One number for many: equal fingerprints mean equal bits. Guards against accidents, not against forgers.

use crate::random::scramble;

pub(crate) fn fingerprint<'a>(tensors: impl IntoIterator<Item = &'a [f32]>) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for values in tensors {
        for value in values {
            // The rotation lets high bits come down again, where the multiplication alone only moves bits up.
            state = (state.rotate_left(23) ^ u64::from(value.to_bits())).wrapping_mul(0x0000_0100_0000_01b3);
        }
        state = scramble(state ^ values.len() as u64);
    }
    state
}

pub(crate) fn hexadecimal(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_and_any_swap_shows() {
        let values: Vec<f32> = (0..100).map(|index| index as f32 * 0.37).collect();
        let whole = fingerprint([&values[..]]);
        for index in [0, 50, 99] {
            for bit in [0, 1, 16, 31] {
                let mut changed = values.clone();
                changed[index] = f32::from_bits(changed[index].to_bits() ^ (1 << bit));
                assert_ne!(fingerprint([&changed[..]]), whole);
            }
        }
        let mut swapped = values.clone();
        swapped.swap(3, 4);
        assert_ne!(fingerprint([&swapped[..]]), whole);
        assert_ne!(fingerprint([&values[..50], &values[50..]]), whole);
        assert_eq!(hexadecimal(255), "00000000000000ff");
    }
}
