//! Tables of what can be asked: names, ascending, and how each is answered.

/// Declares such a table, and the list of its names.
macro_rules! table {
    (
        $(#[$about:meta])*
        pub const $names:ident by $kind:ty;
        $($name:literal => $value:expr,)*
    ) => {
        const TABLE: &[(&str, $kind)] = &[$(($name, $value)),*];

        $(#[$about])*
        pub const $names: &[&str] = &[$($name),*];
    };
}

pub(crate) use table;

/// The row of a name.
pub(crate) fn row<T>(
    table: &'static [(&'static str, T)],
    name: &str,
) -> Option<&'static (&'static str, T)> {
    let at = table
        .binary_search_by(|(known, _)| (*known).cmp(name))
        .ok()?;
    table.get(at)
}
