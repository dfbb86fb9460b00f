//! The life of both kinds of stores, compared with the node that they were built from and with a
//! naive filter over all transfers: the same answers to every query, also after damage, kills
//! and reorganizations.

/// The tests of a module for both kinds of stores. Each test gets its name, so that it can run
/// again in another process.
macro_rules! for_both_stores {
    ($($test:ident),+ $(,)?) => {
        mod index {
            $(#[test]
            fn $test() {
                super::$test(&crate::stores::INDEX, concat!(module_path!(), "::", stringify!($test)));
            })+
        }
        mod lake {
            $(#[test]
            fn $test() {
                super::$test(&crate::stores::LAKE, concat!(module_path!(), "::", stringify!($test)));
            })+
        }
    };
}

mod again;
mod answers;
mod damage;
mod follow;
mod killed;
mod steps;
mod stores;
mod support;
