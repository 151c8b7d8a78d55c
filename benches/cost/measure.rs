//! Clocks, and what is made of their samples.

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// How long the contestants of one row take turns, and how often at least.
const ROW: Duration = Duration::from_secs(4);
const ROUNDS: usize = 25;
/// Too large for a piece that has been freed before.
const LARGE: usize = 64 << 20;

/// Lets contestants take turns, and gives what each says when it is least disturbed.
pub(crate) fn undisturbed<const N: usize>(mut contestants: [&mut dyn FnMut() -> f64; N]) -> [f64; N] {
    let mut samples = [const { Vec::new() }; N];
    contestants.iter_mut().for_each(|warm_up| _ = warm_up());
    let start = Instant::now();
    for round in 1.. {
        for (contestant, samples) in contestants.iter_mut().zip(&mut samples) {
            samples.push(contestant());
        }
        if round >= ROUNDS && start.elapsed() >= ROW {
            break;
        }
    }
    samples.map(low)
}

/// What a twentieth of the samples stays below: neighbours only ever add to a time.
fn low(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples.get(samples.len() / 20).copied().unwrap_or(f64::NAN)
}

/// Times some runs, their inputs being made before the clock starts: the nanoseconds of one.
pub(crate) fn nanoseconds<I, O>(runs: u32, input: impl Fn() -> I, mut run: impl FnMut(I) -> O) -> f64 {
    let inputs: Vec<I> = (0..runs).map(|_| input()).collect();
    // glibc leaves it to the next who wants a large piece to tidy up the small ones that others have freed.
    drop(black_box(Vec::<u8>::with_capacity(LARGE)));
    let start = Instant::now();
    // The counting allocator would make those look worse that allocate more.
    allocation_counter::opt_out(|| {
        for input in inputs {
            black_box(run(black_box(input)));
        }
    });
    start.elapsed().as_nanos() as f64 / f64::from(runs)
}

/// Completes a future that waits for nothing, without a runtime.
pub(crate) fn complete<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}
