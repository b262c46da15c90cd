//! Numbers as the bytes that travel: little endian, which is how every machine that Fermi runs on keeps them.

const _: () = assert!(cfg!(target_endian = "little"), "numbers travel as they lie in memory, little endian");

pub(crate) fn bytes_of(values: &[f32]) -> &[u8] {
    // SAFETY: numbers have no padding, bytes need no alignment, and the length is that of the same memory.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

pub(crate) fn bytes_of_mut(values: &mut [f32]) -> &mut [u8] {
    // SAFETY: as above; any bytes are a number, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Adds each to its counterpart. A loop that the compiler turns into wide instructions.
pub(crate) fn add(sums: &mut [f32], values: &[f32]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_travel_as_little_endian() {
        let mut values = [1.5_f32, -2.0];
        let expected: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(bytes_of(&values), expected);
        bytes_of_mut(&mut values)[..4].copy_from_slice(&8.0_f32.to_le_bytes());
        add(&mut values, &[1.0, 1.0]);
        assert_eq!(values, [9.0, -1.0]);
    }
}
