//! Tasks in order, and what became of each.

use std::collections::VecDeque;

/// A queue of tasks. Each waits, runs, or is done. Results leave the queue in order, from its
/// head.
///
/// It has no threads: it is the bookkeeping between a caller that decides which task
/// may start and a [`TaskRunner`](crate::TaskRunner) that runs them.
#[derive(Debug)]
pub struct TaskQueue<T, R> {
    slots: VecDeque<Slot<T, R>>,
    next_id: u64,
    running: usize,
}

#[derive(Debug)]
struct Slot<T, R> {
    task: T,
    state: State<R>,
}

#[derive(Debug)]
enum State<R> {
    Waiting,
    Running { id: u64 },
    Done(R),
}

/// A task that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningTask<T> {
    /// Identifies the result; never used twice.
    pub id: u64,
    /// The task.
    pub task: T,
}

/// The first task in the queue.
#[derive(Debug, PartialEq, Eq)]
pub enum QueueHead<'a, R> {
    /// No task is left.
    Empty,
    /// It waits or runs.
    Pending,
    /// It is done.
    Done(&'a mut R),
}

impl<T, R> Default for TaskQueue<T, R> {
    fn default() -> Self {
        Self {
            slots: VecDeque::new(),
            next_id: 0,
            running: 0,
        }
    }
}

impl<T: Clone, R> TaskQueue<T, R> {
    /// The number of tasks in the queue.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no task is in the queue.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The number of tasks that run.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Adds a task at the end.
    pub fn push_back(&mut self, task: T) {
        self.insert(self.slots.len(), task);
    }

    /// Adds a task at position `at`, which must not be beyond the end.
    pub fn insert(&mut self, at: usize, task: T) {
        let state = State::Waiting;
        self.slots.insert(at, Slot { task, state });
    }

    /// The position of the first task that waits.
    pub fn first_waiting(&self) -> Option<usize> {
        let waits = |slot: &Slot<T, R>| matches!(slot.state, State::Waiting);
        self.slots.iter().position(waits)
    }

    /// Marks the task at a position as running.
    ///
    /// # Panics
    ///
    /// If there is none, or it does not wait.
    pub fn start(&mut self, at: usize) -> RunningTask<T> {
        let slot = &mut self.slots[at];
        assert!(matches!(slot.state, State::Waiting), "started twice");
        let id = self.next_id;
        self.next_id += 1;
        self.running += 1;
        slot.state = State::Running { id };
        RunningTask {
            id,
            task: slot.task.clone(),
        }
    }

    /// Stores the result of a task. Returns its position and the task, which may be changed;
    /// `None` if the task has left the queue or was reset in the meantime.
    pub fn finish(&mut self, id: u64, result: R) -> Option<(usize, &mut T)> {
        let mine =
            |slot: &Slot<T, R>| matches!(slot.state, State::Running { id: other } if other == id);
        let at = self.slots.iter().position(mine)?;
        self.running -= 1;
        let slot = &mut self.slots[at];
        slot.state = State::Done(result);
        Some((at, &mut slot.task))
    }

    /// The state of the first task.
    pub fn head(&mut self) -> QueueHead<'_, R> {
        match self.slots.front_mut() {
            None => QueueHead::Empty,
            Some(Slot {
                state: State::Done(result),
                ..
            }) => QueueHead::Done(result),
            Some(_) => QueueHead::Pending,
        }
    }

    /// The first task.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.slots.front_mut().map(|slot| &mut slot.task)
    }

    /// Removes the first task if it is done.
    pub fn take_head(&mut self) -> Option<(T, R)> {
        let is_done = |slot: &mut Slot<T, R>| matches!(slot.state, State::Done(_));
        match self.slots.pop_front_if(is_done)? {
            Slot {
                task,
                state: State::Done(result),
            } => Some((task, result)),
            _ => None,
        }
    }

    /// The results of all tasks that are done.
    pub fn results(&self) -> impl Iterator<Item = &R> {
        self.slots.iter().filter_map(|slot| match &slot.state {
            State::Done(result) => Some(result),
            _ => None,
        })
    }

    /// Makes all tasks wait again that are done, and passes their results to `discarded`.
    /// Running tasks go on.
    pub fn reset(&mut self, mut discarded: impl FnMut(R)) {
        for slot in &mut self.slots {
            if matches!(slot.state, State::Done(_))
                && let State::Done(result) = std::mem::replace(&mut slot.state, State::Waiting)
            {
                discarded(result);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_leave_at_the_head_only() {
        let mut queue: TaskQueue<&str, u32> = TaskQueue::default();
        assert_eq!(queue.head(), QueueHead::Empty);
        for task in ["a", "b", "c"] {
            queue.push_back(task);
        }
        let (a, b) = (queue.start(0), queue.start(1));
        assert_eq!((a.task, b.task, queue.running()), ("a", "b", 2));
        assert_eq!(queue.first_waiting(), Some(2));
        assert_eq!(queue.finish(b.id, 2), Some((1, &mut "b")));
        assert_eq!(queue.head(), QueueHead::Pending);
        assert_eq!(queue.take_head(), None);
        queue.finish(a.id, 1);
        assert_eq!(queue.take_head(), Some(("a", 1)));
        assert_eq!(queue.take_head(), Some(("b", 2)));
        assert_eq!((queue.len(), queue.running()), (1, 0));
    }

    #[test]
    fn results_of_tasks_that_left_are_ignored() {
        let mut queue: TaskQueue<&str, u32> = TaskQueue::default();
        queue.push_back("a");
        let first = queue.start(0);
        queue.finish(first.id, 1);
        queue.reset(|result| assert_eq!(result, 1));
        let second = queue.start(0);
        assert_ne!(first.id, second.id);
        assert_eq!(queue.finish(first.id, 7), None);
        assert_eq!(queue.running(), 1);
        queue.finish(second.id, 2);
        assert_eq!(queue.take_head(), Some(("a", 2)));
    }
}
