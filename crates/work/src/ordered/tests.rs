use super::*;
use proptest::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
    time::Duration,
};

/// Takes between no time and a few scheduler switches, differently for each task.
fn dawdle(seed: u64, task: u64) {
    let mut chance = SmallRng::seed_from_u64(seed ^ task.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    match chance.random_range(0..8) {
        0 => thread::sleep(Duration::from_micros(chance.random_range(0..200))),
        1..4 => thread::yield_now(),
        _ => {}
    }
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    threads: usize,
    ahead: usize,
    tasks: u64,
    /// Tasks that end with an error.
    failing: Vec<u64>,
    /// The sink breaks at this task.
    breaks_at: u64,
    /// The call is made on a thread of the pool.
    is_in_pool: bool,
}

fn case() -> impl Strategy<Value = Case> {
    (
        any::<u64>(),
        1usize..6,
        1usize..12,
        0u64..60,
        proptest::collection::vec(0u64..200, 0..3),
        prop_oneof![3 => Just(u64::MAX), 1 => 0u64..60],
        any::<bool>(),
    )
        .prop_map(
            |(seed, threads, ahead, tasks, failing, breaks_at, is_in_pool)| Case {
                seed,
                threads,
                ahead,
                tasks,
                failing,
                breaks_at,
                is_in_pool,
            },
        )
}

/// The values that a plain loop delivers, and how it ends.
fn plain(case: &Case) -> (Vec<Result<u64, u64>>, Ordered<u64>) {
    let mut delivered = Vec::new();
    for task in 0..case.tasks {
        let result = if case.failing.contains(&task) {
            Err(task)
        } else {
            Ok(task)
        };
        delivered.push(result);
        if task == case.breaks_at {
            return (delivered, Ordered::Broken(task));
        }
        if result.is_err() {
            break;
        }
    }
    (delivered, Ordered::Done)
}

fn run(case: &Case) -> (Vec<Result<u64, u64>>, Ordered<u64>) {
    let threads = Threads::new(case.threads).unwrap();
    let (begun, delivered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut out = Vec::new();
        let end = ordered(
            &threads,
            case.ahead,
            &CancelFlag::new(),
            0..case.tasks,
            || 0u64,
            |done: &mut u64, task| {
                *done += 1;
                let begun = begun.fetch_add(1, SeqCst) + 1;
                assert!(begun <= delivered.load(SeqCst) + case.ahead, "{case:?}");
                dawdle(case.seed, task);
                if case.failing.contains(&task) {
                    ControlFlow::Break(Err(task))
                } else {
                    ControlFlow::Continue(Ok(task))
                }
            },
            |result| {
                delivered.fetch_add(1, SeqCst);
                out.push(result);
                let (Ok(task) | Err(task)) = result;
                if task == case.breaks_at {
                    ControlFlow::Break(task)
                } else {
                    ControlFlow::Continue(())
                }
            },
        );
        (out, end.unwrap())
    };
    if case.is_in_pool {
        threads.install(work).unwrap()
    } else {
        work()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Order, look-ahead, the first error in order, and breaking sinks, on any number of
    /// threads, outside and inside of the pool.
    #[test]
    fn delivers_like_a_plain_loop(case in case()) {
        prop_assert_eq!(run(&case), plain(&case));
    }
}

#[test]
fn canceling_ends_the_work() {
    for threads in [1, 3] {
        let cancel = CancelFlag::new();
        let mut delivered = 0;
        let end = ordered(
            &Threads::new(threads).unwrap(),
            4,
            &cancel,
            0u64..,
            || (),
            |(), task| ControlFlow::Continue(task),
            |_| {
                delivered += 1;
                if delivered == 10 {
                    cancel.cancel();
                }
                ControlFlow::<()>::Continue(())
            },
        );
        assert_eq!((end.unwrap(), delivered), (Ordered::Canceled, 10));
    }
}

#[test]
fn a_panic_reaches_the_caller() {
    for (threads, is_in_pool) in [(1, false), (3, false), (1, true), (3, true)] {
        let threads = Threads::new(threads).unwrap();
        let work = || {
            ordered(
                &threads,
                6,
                &CancelFlag::new(),
                0..1000,
                || (),
                |(), task| {
                    assert!(task != 50, "on purpose");
                    ControlFlow::Continue(task)
                },
                |_| ControlFlow::<()>::Continue(()),
            )
        };
        let panic = catch_unwind(AssertUnwindSafe(|| match is_in_pool {
            true => threads.install(work).unwrap(),
            false => work(),
        }));
        let panic = panic.expect_err("the panic was lost");
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
    }
}

/// A task that runs a pipeline of its own on the same threads: each waits for the other's
/// thread, so every waiting thread has to help.
#[test]
fn pipelines_nest_on_the_same_threads() {
    for count in [1, 2, 3] {
        let threads = Threads::new(count).unwrap();
        let sum = |last: u64| {
            let mut sum = 0;
            let end = ordered(
                &threads,
                3,
                &CancelFlag::new(),
                0..=last,
                || (),
                |(), number| ControlFlow::Continue(number),
                |number| {
                    sum += number;
                    ControlFlow::<()>::Continue(())
                },
            );
            assert_eq!(end.unwrap(), Ordered::Done);
            sum
        };
        let mut sums = Vec::new();
        let end = ordered(
            &threads,
            5,
            &CancelFlag::new(),
            0..40u64,
            || (),
            |(), last| ControlFlow::Continue(sum(last)),
            |sum| {
                sums.push(sum);
                ControlFlow::<()>::Continue(())
            },
        );
        assert_eq!(end.unwrap(), Ordered::Done);
        let expected: Vec<u64> = (0..40).map(|last| last * (last + 1) / 2).collect();
        assert_eq!(sums, expected);
    }
}

/// With one thread everything happens on the calling thread.
#[test]
fn one_thread_is_the_caller() {
    let caller = thread::current().id();
    let end = ordered(
        &Threads::one(),
        4,
        &CancelFlag::new(),
        0..20,
        || (),
        |(), _| {
            assert_eq!(thread::current().id(), caller);
            ControlFlow::Continue(())
        },
        |()| ControlFlow::<()>::Continue(()),
    );
    assert_eq!(end.unwrap(), Ordered::Done);
}
