//! A call whose chain is one form that always answers and asks for none of the arguments.
//!
//! The function then has nothing left to do after its attempt, so the form goes into the future that it awaits. What
//! stands in the function is what every user's compiler has to check once for each function; what stands here it checks
//! once.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::Call;
use crate::fallback::Chain;
use crate::guard::attempt::{Core, last};
use crate::guard::short::Early;
use crate::ops::{Answers, Asks, End, Ops, Refuses};
use crate::private::LAYER_RETRY;
use crate::rejection::Rejection;

/// How a chain of one form ends, with what that form was given.
type Ends<O, L> = fn(L, Chain<O>) -> <O as Answers>::Return;

/// A call that ends with `value` where its one attempt gives no answer. The future's output is what the caller gets.
#[inline]
pub fn value<O, B, F>(call: Call, ops: O, body: B, make: F) -> Whole<O, B, F>
where
    O: Ops,
    B: Future<Output = O::Return>,
    F: FnOnce() -> O::Value,
{
    whole(call, ops, body, make, |make, chain| chain.value(0, make))
}

/// The same with `refuse`.
#[inline]
pub fn refuse<O, B, F>(call: Call, ops: O, body: B, make: F) -> Whole<O, B, F>
where
    O: Refuses,
    B: Future<Output = O::Return>,
    F: FnOnce(Rejection) -> O::Error,
{
    whole(call, ops, body, make, |make, chain| chain.refuse(0, make))
}

/// The same with `none`.
#[inline]
pub fn none<O: Refuses, B: Future<Output = O::Return>>(call: Call, ops: O, body: B) -> Whole<O, B, ()> {
    whole(call, ops, body, (), |(), chain| chain.none(0))
}

// The bounds of a form are asked for where the call is made and nowhere else: a mistake is one error, at the form.
#[inline]
fn whole<O: Ops, B, L>(mut call: Call, ops: O, body: B, last: L, ends: Ends<O, L>) -> Whole<O, B, L> {
    call.who.layers &= !LAYER_RETRY;
    Whole {
        call,
        core: Core::new(ops.asks(), body),
        end: Some((ops, last)),
        ends,
    }
}

pin_project_lite::pin_project! {
    /// A call whose end is decided: the future of [`value`], [`refuse`] and [`none`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Whole<O: Ops, B, L> {
        // The call begins when this is first polled.
        call: Call,
        #[pin]
        core: Core<Asks<O::Return>, B>,
        end: Option<(O, L)>,
        ends: Ends<O, L>,
    }

    impl<O: Ops, B, L> PinnedDrop for Whole<O, B, L> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.core.give_back(&mut this.call.late);
        }
    }
}

impl<O: Ops, B: Future<Output = O::Return>, L> Future for Whole<O, B, L> {
    type Output = O::Return;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<O::Return> {
        let mut this = self.project();
        let layers = this.call.who.layers;
        let end = match this.call.poll_early(layers, this.core.as_mut(), cx) {
            Early::Answer(answer) => return Poll::Ready(answer),
            Early::Refused(rejection) => End::Rejected(rejection),
            Early::Attempted(polled) => last(ready!(polled)),
            Early::LongWay => last(ready!(this.core.as_mut().poll(&mut this.call.late, cx))),
        };
        match end {
            End::Value(answer) => Poll::Ready(answer),
            end => {
                this.core.let_go();
                match this.end.take() {
                    Some((ops, last)) => Poll::Ready((this.ends)(last, this.call.take().fall(ops, end))),
                    None => Poll::Pending,
                }
            }
        }
    }
}

impl<O: Ops, B, L> fmt::Debug for Whole<O, B, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};
    use std::io;
    use std::pin::pin;
    use std::task::Waker;

    use super::*;
    use crate::ops::{ResultOps, ops};
    use crate::private::{Form, LAYER_BREAKER, Spec};
    use crate::site::Site;
    use crate::{Failure, Policy, Runtime};

    const FAR: &str =
        "version = 1\n[dependency.far]\nfail = \"open\"\ntimeout = \"1s\"\nbreaker.window = \"4 calls\"\n";

    static SITE: Site = Site::new(Spec {
        dependency: "far",
        function: "ask",
        module: "tests",
        here: std::any::type_name::<Answer>,
        file: file!(),
        line: line!(),
        package: "tests",
        policy_file: "resilience.toml",
        policy: FAR,
        layers: LAYER_BREAKER,
        forms: &[Form::None("")],
        plain: false,
    });

    type Answer = Result<u32, Failure<io::Error>>;

    fn polls<F: Future<Output = Answer>>(call: F) -> [Option<bool>; 3] {
        let mut call = pin!(call);
        std::array::from_fn(|_| match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer.is_ok()),
            Poll::Pending => None,
        })
    }

    fn body(good: bool) -> Ready<Answer> {
        ready(if good {
            Ok(1)
        } else {
            Err(Failure::Error(io::ErrorKind::BrokenPipe.into()))
        })
    }

    fn able() -> ResultOps<u32, Failure<io::Error>> {
        ops::<Answer, _, _>()
    }

    #[test]
    fn who_polls_again_what_is_over_waits_for_ever_and_makes_no_second_call() {
        let call = || Call::begin(&SITE);
        let refused = |_| Failure::Error(io::ErrorKind::Other.into());
        let good = [Some(true), None, None];
        let bad = [Some(false), None, None];
        // By the short way, which a scope keeps a call from.
        assert_eq!(polls(none(call(), able(), body(true))), good);
        assert_eq!(polls(none(call(), able(), body(false))), bad);
        let runtime = Runtime::new(Policy::from_toml(FAR).unwrap());
        let mut asked = pin!(runtime.scope(async {
            assert_eq!(polls(none(call(), able(), body(true))), good);
            assert_eq!(polls(none(call(), able(), body(false))), bad);
            assert_eq!(polls(value(call(), able(), body(false), || 2)), good);
            assert_eq!(polls(refuse(call(), able(), body(false), refused)), bad);
        }));
        let asked = asked.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(asked.is_ready());
    }
}
