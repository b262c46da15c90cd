//! Matrix products on slices: the one place that calls `gemm`, and the one place with unsafe code.

use gemm::{Parallelism, gemm};

/// A view of `rows` × `columns` values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

/// A place for a result, row after row.
#[derive(Debug)]
pub(crate) struct MatrixMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Replace,
    Add,
}

/// How many values a view touches from its first to its last.
fn extent(rows: usize, columns: usize, row_stride: usize) -> usize {
    if rows == 0 || columns == 0 { 0 } else { (rows - 1) * row_stride + columns }
}

impl<'a> Matrix<'a> {
    pub fn new(data: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// Rows that lie `row_stride` values apart, as those of one head among others do.
    pub fn strided(data: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        // Cutting the slice to the extent here is what makes the unsafe call below sound.
        Self { data: &data[..extent(rows, columns, row_stride)], rows, columns, row_stride, column_stride: 1 }
    }

    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

impl<'a> MatrixMut<'a> {
    pub fn new(data: &'a mut [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    pub fn strided(data: &'a mut [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        Self { data: &mut data[..extent(rows, columns, row_stride)], rows, columns, row_stride }
    }
}

/// `into = scale · left · right`, or adds that to `into`.
pub(crate) fn multiply(scale: f32, left: Matrix<'_>, right: Matrix<'_>, into: MatrixMut<'_>, store: Store) {
    assert!(
        left.rows == into.rows && right.columns == into.columns && left.columns == right.rows,
        "shapes of a matrix product must fit"
    );
    // SAFETY: every view covers its whole extent, which was cut from a real slice; the shapes agree, as just asserted;
    // and `into` borrows mutably, so that it overlaps neither input.
    unsafe {
        gemm(
            into.rows,
            into.columns,
            left.columns,
            into.data.as_mut_ptr(),
            1,
            into.row_stride as isize,
            store == Store::Add,
            left.data.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.data.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            1.0,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_plain_strided_and_transposed_views_are_right() {
        let left = [1.0, 2.0, 9.0, 3.0, 4.0, 9.0];
        let right = [5.0, 7.0, 6.0, 8.0];
        let mut into = [1.0; 5];
        let left = Matrix::strided(&left, 2, 2, 3);
        let right = Matrix::new(&right, 2, 2).transposed();
        multiply(1.0, left, right, MatrixMut::strided(&mut into, 2, 2, 3), Store::Replace);
        assert_eq!(into, [19.0, 22.0, 1.0, 43.0, 50.0]);
        multiply(2.0, left, right, MatrixMut::strided(&mut into, 2, 2, 3), Store::Add);
        assert_eq!(into, [57.0, 66.0, 1.0, 129.0, 150.0]);
    }
}
